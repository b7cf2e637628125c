#include <algorithm>

#include "kernels/portable/index.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/index_reader.h"

namespace rushlight::portable {
namespace {

enum Mode { kSum, kMean, kMax };

// Writes a position to a tensor that has the dtype of the indices: int32 or int64.
void put(const Tensor& tensor, int64_t element, int64_t value) {
  if (tensor.scalar_type() == ScalarType::Long) {
    tensor.mutable_data_ptr<int64_t>()[element] = value;
  } else {
    tensor.mutable_data_ptr<int32_t>()[element] = static_cast<int32_t>(value);
  }
}

// Columns of results that a bag computes at a time: they stay in registers or in the first-level cache.
constexpr int64_t kColumns = 64;

// One bag: the rows of `weight` whose indices are rows[begin, end), without the index `padding`.
template <typename T>
struct Bag {
  using Number = AccumulatorOf<T>;

  const Tensor& weight;
  const IndexReader& rows;
  int64_t begin, end, padding;
  const T* scales;  // a factor for each row, or null

  // Calls function(row, pointer to column `first` of the row, position in the bag).
  template <typename F>
  void for_rows(int64_t first, F function) const {
    const T* const columns = weight.const_data_ptr<T>() + first * weight.stride(1);
    for (int64_t i = begin; i < end; ++i) {
      if (rows[i] != padding) function(rows[i], columns + rows[i] * weight.stride(0), i - begin);
    }
  }

  void sum_weight_rows(int64_t first, int64_t columns, Number* sums) const {
    std::fill_n(sums, columns, Number{0});
    for_rows(first, [&](int64_t, const T* from, int64_t i) {
      if (weight.stride(1) == 1 && columns == kColumns) {
        add(from, 1, kColumns, i, sums);
      } else {
        add(from, weight.stride(1), columns, i, sums);
      }
    });
  }

  template <typename F>
  void find_maxima(int64_t first, int64_t columns, Number* maximum, F set_row) const {
    std::fill_n(maximum, columns, Number{0});
    bool is_empty = true;
    for_rows(first, [&](int64_t row, const T* from, int64_t) {
      for (int64_t c = 0; c < columns; ++c) {
        const Number value = static_cast<Number>(from[c * weight.stride(1)]);
        if (!is_empty && !(value > maximum[c])) continue;
        maximum[c] = value;
        set_row(c, row);
      }
      is_empty = false;
    });
  }

 private:
  [[gnu::always_inline]] void add(const T* from, int64_t step, int64_t columns, int64_t i, Number* sums) const {
    if (scales) {
      const Number scale = static_cast<Number>(scales[i]);
      for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<Number>(from[c * step]) * scale;
    } else {
      for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<Number>(from[c * step]);
    }
  }
};

}  // namespace

// Writes `out` [bags, width]. The other results are for the backward pass: offset2bag may be empty, and max_indices is
// [bags, width] for mode max.
void embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices) {
  (void)scale_grad_by_freq;
  (void)sparse;
  RL_KERNEL_REQUIRE(context, weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1, InvalidArgument,
                    "embedding_bag needs a matrix of weights and vectors of indices and offsets");
  RL_KERNEL_REQUIRE(context, mode >= kSum && mode <= kMax, InvalidArgument,
                    "mode %lld is not 0 (sum), 1 (mean) or 2 (max)", static_cast<long long>(mode));
  RL_KERNEL_REQUIRE(context, !per_sample_weights || (mode == kSum && same_shape(*per_sample_weights, indices)),
                    InvalidArgument, "per_sample_weights need mode 0 (sum) and the shape of the indices");
  RL_KERNEL_REQUIRE(context, !include_last_offset || offsets.size(0) >= 1, InvalidArgument, "there are no offsets");
  if (!require_same_dtype(context, weight, out)) return;
  if (per_sample_weights && !require_same_dtype(context, weight, *per_sample_weights)) return;
  if (!require_indices(context, indices, 0, weight.size(0)) ||
      !require_indices(context, offsets, 0, indices.size(0) + 1)) {
    return;
  }
  for (const Tensor& positions : {offset2bag, bag_size, max_indices}) {
    RL_KERNEL_REQUIRE(context, is_index_type(positions.scalar_type()), InvalidArgument,
                      "positions are %s, not int32 or int64", dtype_name(positions.scalar_type()));
  }
  const int64_t bags = offsets.size(0) - (include_last_offset ? 1 : 0), width = weight.size(1);
  if (!resize_out(context, out, {bags, width})) return;
  // offset2bag is written only if its memory is large enough.
  const bool maps = offset2bag.numel() == indices.numel() ||
                    (offset2bag.shape_dynamism() != ShapeDynamism::STATIC &&
                     offset2bag.impl()->capacity / offset2bag.element_size() >= static_cast<size_t>(indices.numel()));
  if (maps && !resize_out(context, offset2bag, {indices.numel()})) return;
  const bool is_max = mode == kMax;
  if (bag_size.shape_dynamism() != ShapeDynamism::STATIC && !resize_out(context, bag_size, {bags})) return;
  if (is_max && !resize_out(context, max_indices, {bags, width})) return;
  fill_tensor(context, out, 0);
  fill_tensor(context, bag_size, 0);
  fill_tensor(context, max_indices, 0);
  const IndexReader rows(indices), starts(offsets);
  bool ordered = true;
  switch_dtype<dtypes::kFloatH>(context, weight.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = AccumulatorOf<T>;
    const T* scales = per_sample_weights ? per_sample_weights->const_data_ptr<T>() : nullptr;
    for (int64_t bag = 0; bag < bags; ++bag) {
      const int64_t begin = starts[bag];
      const int64_t end = bag + 1 < offsets.size(0) ? starts[bag + 1] : indices.numel();
      ordered = ordered && begin <= end;
      if (!ordered) return;
      int64_t count = 0;
      for (int64_t i = begin; i < end; ++i) {
        if (maps) put(offset2bag, i, bag);
        count += rows[i] != padding_idx;
      }
      if (bag < bag_size.numel()) put(bag_size, bag, count);
      const Bag<T> current_bag{weight, rows, begin, end, padding_idx, scales ? scales + begin : nullptr};
      for (int64_t j = 0; j < width; j += kColumns) {
        const int64_t columns = std::min(kColumns, width - j);
        Number results[kColumns];
        if (is_max) {
          current_bag.find_maxima(j, columns, results, [&](int64_t column, int64_t row) {
            put(max_indices, bag * max_indices.stride(0) + (j + column) * max_indices.stride(1), row);
          });
        } else {
          current_bag.sum_weight_rows(j, columns, results);
        }
        const Number divisor = static_cast<Number>(mode == kMean && count > 0 ? count : 1);
        T* const to = out.mutable_data_ptr<T>() + bag * out.stride(0) + j * out.stride(1);
        for (int64_t c = 0; c < columns; ++c) to[c * out.stride(1)] = static_cast<T>(results[c] / divisor);
      }
    }
  });
  RL_KERNEL_REQUIRE(context, ordered, InvalidArgument, "the offsets are not in ascending order");
}

}  // namespace rushlight::portable
