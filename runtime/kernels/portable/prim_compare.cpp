#include "kernels/portable/prim.h"

namespace rushlight::portable {
namespace {

// Returns -1, 0 or 1 if a is less than, equal to or greater than b, and 2 if one of them is NaN.
int order(const Scalar& a, const Scalar& b) {
  if (a.is_double() || b.is_double()) {
    const double x = a.to<double>(), y = b.to<double>();
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  const int64_t x = a.to<int64_t>(), y = b.to<int64_t>();
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

void prim_eq(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(order(a, b) == 0);
}

void prim_ne(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(order(a, b) != 0);
}

void prim_lt(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(order(a, b) == -1);
}

void prim_le(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(order(a, b) <= 0);
}

void prim_gt(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  out = EValue(order(a, b) == 1);
}

void prim_ge(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  const int way = order(a, b);
  out = EValue(way == 0 || way == 1);
}

void prim_sym_max(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  const Scalar& larger = order(a, b) == -1 ? b : a;
  out = a.is_double() || b.is_double() ? EValue(larger.to<double>()) : EValue(larger.to<int64_t>());
}

void prim_sym_min(KernelRuntimeContext& context, const Scalar& a, const Scalar& b, EValue& out) {
  (void)context;
  const Scalar& smaller = order(a, b) == 1 ? b : a;
  out = a.is_double() || b.is_double() ? EValue(smaller.to<double>()) : EValue(smaller.to<int64_t>());
}

}  // namespace rushlight::portable
