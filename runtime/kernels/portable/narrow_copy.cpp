#include "kernels/portable/shape.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void narrow_copy_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, int64_t start, int64_t length,
                     Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "narrow needs a tensor of rank 1 or more");
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return;
  const int64_t size = in.size(axis);
  RL_KERNEL_REQUIRE(context, start >= -size && start <= size, InvalidArgument,
                    "start %lld is out of range for dim %lld of size %lld", static_cast<long long>(start),
                    static_cast<long long>(axis), static_cast<long long>(size));
  const int64_t first = start < 0 ? start + size : start;
  RL_KERNEL_REQUIRE(context, length >= 0 && length <= size - first, InvalidArgument,
                    "%lld elements from index %lld on exceed dim %lld of size %lld", static_cast<long long>(length),
                    static_cast<long long>(first), static_cast<long long>(axis), static_cast<long long>(size));
  slice_copy_Tensor_out(context, in, axis, first, first + length, 1, out);
}

}  // namespace rushlight::portable
