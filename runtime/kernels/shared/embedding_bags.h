#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/index_reader.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight {

enum EmbeddingBagMode : int64_t { kBagSum, kBagMean, kBagMax };

// The arguments of _embedding_bag that its kernels read.
struct EmbeddingBags {
  const Tensor& weight;   // [rows, width]
  const Tensor& indices;  // [n], rows of `weight`
  const Tensor& offsets;  // [bags], the position of the first index of each bag; and n, if include_last_offset
  int64_t mode;           // EmbeddingBagMode
  const std::optional<Tensor>& per_sample_weights;  // [n], factors of the rows; only for kBagSum
  bool include_last_offset;
  int64_t padding;  // an index that bags skip; none if it is negative

  int64_t count() const { return offsets.size(0) - (include_last_offset ? 1 : 0); }
  // The positions of a bag's indices are begin(bag) to end(bag).
  int64_t begin(int64_t bag) const { return IndexReader(offsets)[bag]; }
  int64_t end(int64_t bag) const { return bag + 1 < offsets.size(0) ? IndexReader(offsets)[bag + 1] : indices.numel(); }
  // Returns the number of indices without `padding`.
  int64_t size(int64_t bag) const;
};

// Writes a position to a tensor of int32 or int64.
inline void put_position(const Tensor& tensor, int64_t element, int64_t value) {
  if (tensor.scalar_type() == ScalarType::Long) {
    tensor.mutable_data_ptr<int64_t>()[element] = value;
  } else {
    tensor.mutable_data_ptr<int32_t>()[element] = static_cast<int32_t>(value);
  }
}

// Checks the arguments, sets the shapes of the results, and writes all results but `out`. If this fails, records the
// failure.
//   out: [bags, width]
//   offset2bag: [n], the bag of each index; it is written only if its memory is large enough
//   bag_size: [bags], bags.size() of each bag
//   max_indices: [bags, width] for kBagMax, filled with zeros
void begin_embedding_bag(KernelRuntimeContext& context, const EmbeddingBags& bags, const Tensor& out,
                         const Tensor& offset2bag, const Tensor& bag_size, const Tensor& max_indices);

}  // namespace rushlight
