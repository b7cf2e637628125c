#include "kernels/shared/fill.h"

#include "kernels/portable/elementwise.h"
#include "kernels/shared/convert_copy.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void fill_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& value, Tensor& out) {
  if (resize_out_like(context, out, in)) fill_tensor(context, out, value);
}

void fill_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& value, Tensor& out) {
  RL_KERNEL_REQUIRE(context, value.dim() == 0, InvalidArgument, "the value has %lld dims, not 0",
                    static_cast<long long>(value.dim()));
  if (resize_out_like(context, out, in)) convert_copy(context, value, out);
}

}  // namespace rushlight::portable
