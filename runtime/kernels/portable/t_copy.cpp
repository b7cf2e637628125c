#include "kernels/portable/shape.h"

namespace rushlight::portable {

void t_copy_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() <= 2, InvalidArgument,
                    "a tensor of rank %lld cannot be transposed without dims; the rank must be 2 or less",
                    static_cast<long long>(in.dim()));
  transpose_copy_int_out(context, in, 0, in.dim() < 2 ? 0 : 1, out);
}

}  // namespace rushlight::portable
