#include <cmath>

#include "kernels/portable/prim.h"
#include "kernels/shared/integer.h"

// Arithmetic by the rules of Python: the result is an integer unless an operand is a double. Integers wrap around
// beyond 64 bits.
namespace rushlight::portable {
namespace {

template <typename Integer, typename Double>
EValue apply(const Scalar& a, const Scalar& b, const Integer& integer, const Double& floating) {
  if (a.is_double() || b.is_double()) return EValue(floating(a.to<double>(), b.to<double>()));
  return EValue(integer(a.to<int64_t>(), b.to<int64_t>()));
}

bool require_divisor(KernelRuntimeContext& context, const Scalar& divisor) {
  const bool is_zero = divisor.is_double() ? divisor.to<double>() == 0 : divisor.to<int64_t>() == 0;
  if (is_zero) context.fail(Error::InvalidArgument, "division by zero");
  return !is_zero;
}

double python_mod(double a, double b) {
  const double mod = std::fmod(a, b);
  return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
}

}  // namespace

void prim_add(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = apply(a, b, wrap_add, [](double x, double y) { return x + y; });
}

void prim_sub(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = apply(a, b, wrap_sub, [](double x, double y) { return x - y; });
}

void prim_mul(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = apply(a, b, wrap_mul, [](double x, double y) { return x * y; });
}

void prim_floordiv(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  if (!require_divisor(context, b)) return;
  out = apply(a, b, floor_div, [](double x, double y) { return std::floor(x / y); });
}

// A division by 0 gives an infinity or NaN as in C++, and does not fail as in Python: PyTorch's operators divide by
// sizes that may be 0 (attention divides by its width).
void prim_truediv(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(a.to<double>() / b.to<double>());
}

void prim_mod(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  if (!require_divisor(context, b)) return;
  out = apply(a, b, floor_mod, python_mod);
}

void prim_pow(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  if (!a.is_double() && !b.is_double() && b.to<int64_t>() >= 0) {
    out = EValue(integer_pow(a.to<int64_t>(), b.to<int64_t>()));
    return;
  }
  const double base = a.to<double>();
  const double exponent = b.to<double>();
  RL_KERNEL_REQUIRE(context, base != 0 || !(exponent < 0), InvalidArgument, "division by zero");
  RL_KERNEL_REQUIRE(context, !(base < 0) || std::floor(exponent) == exponent, InvalidArgument,
                    "a negative number has no real power of exponent %g", exponent);
  out = EValue(std::pow(base, exponent));
}

void prim_neg(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  (void)context;
  out = a.is_double() ? EValue(-a.to<double>()) : EValue(wrap_neg(a.to<int64_t>()));
}

}  // namespace rushlight::portable
