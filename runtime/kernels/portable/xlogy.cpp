#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

// Computes x log y. For x = 0 the result is 0, unless y is NaN.
struct XLogY {
  template <typename C>
  C operator()(C x, C y) const {
    if (y != y) return y;
    return x == 0 ? C(0) : x * std::log(y);
  }
};

}  // namespace

void xlogy_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, b}, out, float_result(result_type(a, b)), [](auto) { return XLogY(); });
}

void xlogy_scalar_self_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out) {
  const ScalarType common = float_result(result_type(b, a));
  elementwise<kinds::kFloating>(context, {b}, out, common, [&](auto c) {
    using C = decltype(c);
    return [x = number_in<C>(a, common)](C y) { return XLogY()(x, y); };
  });
}

void xlogy_scalar_other_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  const ScalarType common = float_result(result_type(a, b));
  elementwise<kinds::kFloating>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [y = number_in<C>(b, common)](C x) { return XLogY()(x, y); };
  });
}

}  // namespace rushlight::portable
