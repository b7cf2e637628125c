#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/division.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

namespace {

struct Function {
  ZeroDivision* zero;
  int64_t operator()(int64_t x, int64_t y) const { return Checked<trunc_mod>{zero}(x, y); }
  float operator()(float x, float y) const { return std::fmod(x, y); }
  double operator()(double x, double y) const { return std::fmod(x, y); }
};

}  // namespace

void fmod_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  ZeroDivision zero;
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b), [&](auto) { return Function{&zero}; });
  zero.report(context);
}

void fmod_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  ZeroDivision zero;
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kReal>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [f = Function{&zero}, y = number_in<C>(b, common)](C x) { return f(x, y); };
  });
  zero.report(context);
}

}  // namespace rushlight::portable
