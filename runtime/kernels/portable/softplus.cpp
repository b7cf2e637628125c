#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void softplus_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& beta, const Scalar& threshold,
                  Tensor& out) {
  elementwise<kinds::kFloating>(context, {in}, out, in.scalar_type(), [&](auto c) {
    using C = decltype(c);
    return [beta = beta.to<C>(), threshold = threshold.to<C>()](C x) {
      return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
    };
  });
}

}  // namespace rushlight::portable
