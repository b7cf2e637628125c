#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/gamma.h"

namespace rushlight::portable {

namespace {

struct Zeta {
  template <typename C>
  C operator()(C s, C q) const {
    return static_cast<C>(zeta(static_cast<double>(s), static_cast<double>(q)));
  }
};

}  // namespace

void special_zeta_out(KernelRuntimeContext& context, const Tensor& s, const Tensor& q, Tensor& out) {
  elementwise<kinds::kFloating>(context, {s, q}, out, float_result(result_type(s, q)), [](auto) { return Zeta(); });
}

void special_zeta_self_scalar_out(KernelRuntimeContext& context, const Scalar& s, const Tensor& q, Tensor& out) {
  const ScalarType common = float_result(result_type(q, s));
  elementwise<kinds::kFloating>(context, {q}, out, common, [&](auto c) {
    using C = decltype(c);
    return [u = number_in<C>(s, common)](C v) { return Zeta()(u, v); };
  });
}

void special_zeta_other_scalar_out(KernelRuntimeContext& context, const Tensor& s, const Scalar& q, Tensor& out) {
  const ScalarType common = float_result(result_type(s, q));
  elementwise<kinds::kFloating>(context, {s}, out, common, [&](auto c) {
    using C = decltype(c);
    return [v = number_in<C>(q, common)](C u) { return Zeta()(u, v); };
  });
}

}  // namespace rushlight::portable
