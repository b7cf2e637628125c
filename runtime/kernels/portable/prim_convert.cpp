#include <cmath>

#include "kernels/portable/prim.h"

namespace rushlight::portable {
namespace {

// Converts a double x to the integer rounded(x). An integer stays unchanged.
void to_integer(KernelRuntimeContext& context, const Scalar& a, double (*rounded)(double), EValue& out) {
  if (!a.is_double()) {
    out = EValue(a.to<int64_t>());
    return;
  }
  const double value = rounded(a.to<double>());
  RL_KERNEL_REQUIRE(context, value >= -0x1p63 && value < 0x1p63, InvalidArgument, "%g is not a 64-bit integer", value);
  out = EValue(static_cast<int64_t>(value));
}

}  // namespace

void prim_ceil(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  to_integer(context, a, [](double x) { return std::ceil(x); }, out);
}

// Rounds ties to the even integer.
void prim_round(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  to_integer(context, a, [](double x) { return x - std::remainder(x, 1.0); }, out);
}

void prim_trunc(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  to_integer(context, a, [](double x) { return std::trunc(x); }, out);
}

void prim_sym_int(KernelRuntimeContext& context, const Scalar& a, EValue& out) { prim_trunc(context, a, out); }

void prim_sym_float(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  (void)context;
  out = EValue(a.to<double>());
}

void prim_sym_not(KernelRuntimeContext& context, const Scalar& a, EValue& out) {
  (void)context;
  out = EValue(a.is_double() ? a.to<double>() == 0 : a.to<int64_t>() == 0);
}

void prim_sym_ite(KernelRuntimeContext& context, const Scalar& condition, const Scalar& when_true,
                  const Scalar& when_false, EValue& out) {
  (void)context;
  const Scalar& chosen = condition.to<bool>() ? when_true : when_false;
  if (chosen.is_double()) {
    out = EValue(chosen.to<double>());
  } else if (chosen.is_bool()) {
    out = EValue(chosen.to<bool>());
  } else {
    out = EValue(chosen.to<int64_t>());
  }
}

}  // namespace rushlight::portable
