#pragma once

#include "kernels/shared/division.h"
#include "kernels/shared/elementwise.h"

namespace rushlight {

// Computes out = Function{&zero}(a, b) elementwise. A Function has operators for int64_t, float and double. If it
// divides an integer by zero, it records this in the ZeroDivision `zero`, and the kernel fails.
template <typename Function>
void checked_division(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  ZeroDivision zero;
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b), [&](auto) { return Function{&zero}; });
  zero.report(context);
}

template <typename Function>
void checked_division(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  ZeroDivision zero;
  const ScalarType common = result_type(a, b);
  elementwise<kinds::kReal>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [f = Function{&zero}, y = number_in<C>(b, common)](C x) { return f(x, y); };
  });
  zero.report(context);
}

}  // namespace rushlight
