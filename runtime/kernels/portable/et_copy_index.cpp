#include <cstring>

#include "kernels/portable/prim.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void et_copy_index(KernelRuntimeContext& context, Tensor& to, const Tensor& from, int64_t index) {
  RL_KERNEL_REQUIRE(context, to.dim() == from.dim() + 1, InvalidArgument,
                    "a tensor of rank %lld cannot be an item of a tensor of rank %lld",
                    static_cast<long long>(from.dim()), static_cast<long long>(to.dim()));
  RL_KERNEL_REQUIRE(context, index >= 0 && index < INT32_MAX, InvalidArgument,
                    "the index %lld is negative or too large", static_cast<long long>(index));
  if (!require_same_dtype(context, to, from)) return;
  // A tensor of dynamic shape grows by one item with each call.
  Shape shape;
  shape.push(to.shape_dynamism() == ShapeDynamism::STATIC ? to.size(0) : index + 1);
  for (int64_t i = 0; i < from.dim(); ++i) shape.push(from.size(i));
  if (!resize_out(context, to, shape.span())) return;
  RL_KERNEL_REQUIRE(context, index < to.size(0), InvalidArgument, "the index %lld is not below %lld",
                    static_cast<long long>(index), static_cast<long long>(to.size(0)));
  RL_KERNEL_REQUIRE(context, is_row_major(to) && is_row_major(from), NotSupported,
                    "both tensors must have the contiguous dim order");
  if (from.numel() > 0) std::memmove(at(to, index * from.numel()), from.const_data_ptr(), from.nbytes());
}

}  // namespace rushlight::portable
