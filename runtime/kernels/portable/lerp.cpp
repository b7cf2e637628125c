#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// Weights below 1/2 start from one end, others from the other end, so that the result is exact at both ends.
template <typename C>
C interpolate(C from, C to, C weight) {
  return std::abs(weight) < 0.5 ? from + weight * (to - from) : to - (to - from) * (C(1) - weight);
}

}  // namespace

void lerp_scalar_out(KernelRuntimeContext& context, const Tensor& from, const Tensor& to, const Scalar& weight,
                     Tensor& out) {
  const ScalarType common = result_type(from, to);
  elementwise<kinds::kFloating>(context, {from, to}, out, common, [&](auto c) {
    using C = decltype(c);
    return [weight = number_in<C>(weight, compute_type(common))](C x, C y) { return interpolate(x, y, weight); };
  });
}

void lerp_tensor_out(KernelRuntimeContext& context, const Tensor& from, const Tensor& to, const Tensor& weight,
                     Tensor& out) {
  elementwise<kinds::kFloating>(context, {from, to, weight}, out, result_type(from, to, weight), [](auto) {
    return [](auto x, auto y, auto weight) { return interpolate(x, y, weight); };
  });
}

}  // namespace rushlight::portable
