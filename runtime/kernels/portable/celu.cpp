#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void celu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [alpha = alpha.to<C>()](C x) { return x > 0 ? x : alpha * std::expm1(x / alpha); };
  });
}

}  // namespace rushlight::portable
