#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void softshrink_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& lambda, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [lambda = lambda.to<C>()](C x) { return x > lambda ? x - lambda : x < -lambda ? x + lambda : x * 0; };
  });
}

}  // namespace rushlight::portable
