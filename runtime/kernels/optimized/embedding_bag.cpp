#include <algorithm>

#include "kernels/optimized/index.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/embedding_bags.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// Adds the rows of a bag to y [width].
void add_bag(const microkernels::F32Microkernels& kernels, const EmbeddingBags& bags, int64_t bag, float* y) {
  constexpr int64_t kBlock = 128;
  int64_t rows[kBlock];
  float scales[kBlock];
  const IndexReader indices(bags.indices);
  const float* const all_scales = bags.per_sample_weights ? bags.per_sample_weights->const_data_ptr<float>() : nullptr;
  const int64_t end = bags.end(bag);
  for (int64_t i = bags.begin(bag); i < end;) {
    int64_t count = 0;
    for (; i < end && count < kBlock; ++i) {
      rows[count] = indices[i];
      if (all_scales) scales[count] = all_scales[i];
      count += rows[count] != bags.padding ? 1 : 0;
    }
    kernels.add_gathered_rows(bags.weight.const_data_ptr<float>(), bags.weight.stride(0), rows,
                              all_scales ? scales : nullptr, count, y, bags.weight.size(1));
  }
}

}  // namespace

// Supports sums and means of float32.
bool embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices) {
  (void)scale_grad_by_freq;
  (void)sparse;
  if (mode == kBagMax || !all_float(weight, out) || !is_row_major(weight)) return false;
  const EmbeddingBags bags{weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx};
  begin_embedding_bag(context, bags, out, offset2bag, bag_size, max_indices);
  if (context.failed()) return true;
  if (!is_row_major(out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t width = weight.size(1);
  const int64_t rows = std::max<int64_t>(1, indices.numel() / std::max<int64_t>(1, bags.count()));
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / (rows * std::max<int64_t>(1, width)));
  context.parallel_for(0, bags.count(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag) {
      float* const y = out.mutable_data_ptr<float>() + bag * width;
      std::fill_n(y, width, 0.0f);
      add_bag(kernels, bags, bag, y);
      const int64_t size = mode == kBagMean ? bags.size(bag) : 0;
      for (int64_t j = 0; size > 1 && j < width; ++j) y[j] /= static_cast<float>(size);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
