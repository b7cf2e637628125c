#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void copysign_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, float_result(result_type(a, b)),
                                [](auto) { return [](auto x, auto y) { return std::copysign(x, y); }; });
}

void copysign_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = float_result(result_type(a, b));
  elementwise<kinds::kFloating>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, common)](C x) { return std::copysign(x, y); };
  });
}

}  // namespace rushlight::portable
