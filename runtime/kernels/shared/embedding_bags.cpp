#include "kernels/shared/embedding_bags.h"

#include <algorithm>

#include "kernels/shared/axes.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/shape.h"

namespace rushlight {
namespace {

// Writes `value` to the elements from `begin` to `end` of a tensor of int32 or int64.
void fill_positions(const Tensor& tensor, int64_t begin, int64_t end, int64_t value) {
  if (tensor.scalar_type() == ScalarType::Long) {
    std::fill(tensor.mutable_data_ptr<int64_t>() + begin, tensor.mutable_data_ptr<int64_t>() + end, value);
  } else {
    std::fill(tensor.mutable_data_ptr<int32_t>() + begin, tensor.mutable_data_ptr<int32_t>() + end,
              static_cast<int32_t>(value));
  }
}

// Checks shapes, dtypes and values of the arguments. If they are invalid, records the failure.
void check_bags(KernelRuntimeContext& context, const EmbeddingBags& bags) {
  const Tensor &weight = bags.weight, &indices = bags.indices, &offsets = bags.offsets;
  const std::optional<Tensor>& per_sample_weights = bags.per_sample_weights;
  RL_KERNEL_REQUIRE(context, weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1, InvalidArgument,
                    "embedding_bag needs a matrix of weights and vectors of indices and offsets");
  RL_KERNEL_REQUIRE(context, bags.mode >= kBagSum && bags.mode <= kBagMax, InvalidArgument,
                    "mode %lld is not 0 (sum), 1 (mean) or 2 (max)", static_cast<long long>(bags.mode));
  RL_KERNEL_REQUIRE(context, !per_sample_weights || (bags.mode == kBagSum && same_shape(*per_sample_weights, indices)),
                    InvalidArgument, "per_sample_weights need mode 0 (sum) and the shape of the indices");
  RL_KERNEL_REQUIRE(context, !bags.include_last_offset || offsets.size(0) >= 1, InvalidArgument,
                    "there are no offsets");
  if (per_sample_weights && !require_same_dtype(context, weight, *per_sample_weights)) return;
  if (!require_indices(context, indices, 0, weight.size(0))) return;
  require_indices(context, offsets, 0, indices.size(0) + 1);
}

// Returns whether a tensor has or can get `count` elements.
bool has_room(const Tensor& tensor, int64_t count) {
  return tensor.numel() == count || (tensor.shape_dynamism() != ShapeDynamism::STATIC &&
                                     tensor.impl()->capacity / tensor.element_size() >= static_cast<size_t>(count));
}

}  // namespace

int64_t EmbeddingBags::size(int64_t bag) const {
  const int64_t first = begin(bag), last = end(bag);
  int64_t count = last - first;
  const IndexReader rows(indices);
  for (int64_t i = first; padding >= 0 && i < last; ++i) count -= rows[i] == padding ? 1 : 0;
  return count;
}

void begin_embedding_bag(KernelRuntimeContext& context, const EmbeddingBags& bags, const Tensor& out,
                         const Tensor& offset2bag, const Tensor& bag_size, const Tensor& max_indices) {
  check_bags(context, bags);
  if (context.failed() || !require_same_dtype(context, bags.weight, out)) return;
  for (const Tensor& positions : {offset2bag, bag_size, max_indices}) {
    RL_KERNEL_REQUIRE(context, is_index_type(positions.scalar_type()), InvalidArgument,
                      "positions are %s, not int32 or int64", dtype_name(positions.scalar_type()));
  }
  const int64_t count = bags.count(), width = bags.weight.size(1), indices = bags.indices.numel();
  const bool maps = has_room(offset2bag, indices);
  if (!resize_out(context, out, {count, width}) || (maps && !resize_out(context, offset2bag, {indices}))) return;
  if (bag_size.shape_dynamism() != ShapeDynamism::STATIC && !resize_out(context, bag_size, {count})) return;
  if (bags.mode == kBagMax && !resize_out(context, max_indices, {count, width})) return;
  fill_tensor(context, bag_size, 0);
  fill_tensor(context, max_indices, 0);
  for (int64_t bag = 0; bag < count; ++bag) {
    const int64_t begin = bags.begin(bag), end = bags.end(bag);
    RL_KERNEL_REQUIRE(context, begin <= end, InvalidArgument, "the offsets are not in ascending order");
    if (maps) fill_positions(offset2bag, begin, end, bag);
    if (bag < bag_size.numel()) put_position(bag_size, bag, bags.size(bag));
  }
}

}  // namespace rushlight
