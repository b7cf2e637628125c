#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void leaky_relu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& slope, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [slope = slope.to<C>()](C x) { return x > 0 ? x : x * slope; };
  });
}

}  // namespace rushlight::portable
