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

// A tensor of positions, which has the dtype of the indices: int32 or int64.
void put(const Tensor& tensor, int64_t element, int64_t value) {
  if (tensor.scalar_type() == ScalarType::Long) {
    tensor.mutable_data_ptr<int64_t>()[element] = value;
  } else {
    tensor.mutable_data_ptr<int32_t>()[element] = static_cast<int32_t>(value);
  }
}

}  // namespace

// `out` is [bags, width]. The backward pass reads the other results: offset2bag may be empty, and max_indices is
// [bags, width] for maxima.
void embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices) {
  (void)scale_grad_by_freq;
  (void)sparse;
  RL_KERNEL_REQUIRE(context, weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1, InvalidArgument,
                    "embedding_bag needs a matrix of weights and vectors of indices and offsets");
  RL_KERNEL_REQUIRE(context, mode >= kSum && mode <= kMax, InvalidArgument, "there is no mode %lld",
                    static_cast<long long>(mode));
  RL_KERNEL_REQUIRE(context, !per_sample_weights || (mode == kSum && same_shape(*per_sample_weights, indices)),
                    InvalidArgument, "per_sample_weights need the mode sum and the shape of the indices");
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
  // offset2bag is written if its memory is large enough.
  const bool maps = offset2bag.numel() == indices.numel() ||
                    (offset2bag.dynamism() != ShapeDynamism::Static &&
                     offset2bag.impl()->capacity / offset2bag.element_size() >= static_cast<size_t>(indices.numel()));
  if (maps && !resize_out(context, offset2bag, {indices.numel()})) return;
  const bool is_max = mode == kMax;
  if (bag_size.dynamism() != ShapeDynamism::Static && !resize_out(context, bag_size, {bags})) return;
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
      for (int64_t j = 0; j < width; ++j) {
        Number sum = 0;
        bool empty = true;
        for (int64_t i = begin; i < end; ++i) {
          if (rows[i] == padding_idx) continue;
          const Number value =
              static_cast<Number>(weight.const_data_ptr<T>()[rows[i] * weight.stride(0) + j * weight.stride(1)]);
          if (!is_max) {
            sum += scales ? value * static_cast<Number>(scales[i]) : value;
          } else if (empty || value > sum) {
            sum = value;
            put(max_indices, bag * max_indices.stride(0) + j * max_indices.stride(1), rows[i]);
          }
          empty = false;
        }
        if (mode == kMean && count > 0) sum /= static_cast<Number>(count);
        out.mutable_data_ptr<T>()[bag * out.stride(0) + j * out.stride(1)] = static_cast<T>(sum);
      }
    }
  });
  RL_KERNEL_REQUIRE(context, ordered, InvalidArgument, "the offsets do not ascend");
}

}  // namespace rushlight::portable
