#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void elu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [below = alpha.to<C>() * scale.to<C>(), above = scale.to<C>(), input_scale = input_scale.to<C>()](C x) {
      return x < 0 ? std::expm1(x * input_scale) * below : x * above;
    };
  });
}

}  // namespace rushlight::portable
