#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void masked_fill_scalar_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Scalar& value,
                            Tensor& out) {
  const ScalarType type = in.scalar_type();
  elementwise<kinds::kAll>(context, {in, mask}, out, type, [&](auto c) {
    using C = decltype(c);
    return [value = number_in<C>(value, type)](C x, C masked) { return masked != C(0) ? value : x; };
  });
}

void masked_fill_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& mask, const Tensor& value,
                            Tensor& out) {
  RL_KERNEL_REQUIRE(context, value.dim() == 0, InvalidArgument, "the value has %lld dims, not 0",
                    static_cast<long long>(value.dim()));
  elementwise<kinds::kAll>(context, {in, mask, value}, out, in.scalar_type(), [](auto) {
    return [](auto x, auto masked, auto fill) { return masked != decltype(masked)(0) ? fill : x; };
  });
}

}  // namespace rushlight::portable
