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

// Returns the dtype of the number by which a quotient of dtype `common` is divided before it is rounded. As in eager
// PyTorch, a number keeps its precision if float16 or bfloat16 is divided.
inline ScalarType divisor_type(ScalarType common) { return is_floating(common) ? compute_type(common) : common; }

// Does the same for a number, which is first converted to `number_type`, or by default to the dtype of the result.
template <typename Function>
void checked_division(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out,
                      ScalarType (*number_type)(ScalarType) = nullptr) {
  ZeroDivision zero;
  const ScalarType common = result_type(a, b), type = number_type ? number_type(common) : common;
  elementwise<kinds::kReal>(context, {a}, out, common, [&](auto c) {
    using C = decltype(c);
    return [f = Function{&zero}, y = number_in<C>(b, type)](C x) { return f(x, y); };
  });
  zero.report(context);
}

}  // namespace rushlight
