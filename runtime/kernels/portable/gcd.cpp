#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

// Returns the greatest common divisor, which is not negative.
int64_t common_divisor(int64_t a, int64_t b) {
  a = a < 0 ? wrap_neg(a) : a;
  b = b < 0 ? wrap_neg(b) : b;
  while (b != 0) {
    const int64_t rest = trunc_mod(a, b);
    a = b;
    b = rest < 0 ? wrap_neg(rest) : rest;
  }
  return a;
}

}  // namespace

void gcd_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kInteger>(context, {a, b}, out, result_type(a, b),
                               [](auto) { return [](int64_t x, int64_t y) { return common_divisor(x, y); }; });
}

}  // namespace rushlight::portable
