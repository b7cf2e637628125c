#include "kernels/portable/elementwise.h"
#include "kernels/shared/common_divisor.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/integer.h"

namespace rushlight::portable {

namespace {

int64_t lcm_of(int64_t a, int64_t b) {
  const int64_t divisor = greatest_common_divisor(a, b);
  if (divisor == 0) return 0;
  const int64_t multiple = wrap_mul(trunc_div(a, divisor), b);
  return multiple < 0 ? wrap_neg(multiple) : multiple;
}

}  // namespace

void lcm_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kInteger>(context, {a, b}, out, result_type(a, b),
                               [](auto) { return [](int64_t x, int64_t y) { return lcm_of(x, y); }; });
}

}  // namespace rushlight::portable
