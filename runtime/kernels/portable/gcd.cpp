#include "kernels/portable/elementwise.h"
#include "kernels/shared/common_divisor.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void gcd_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kInteger>(context, {a, b}, out, result_type(a, b),
                               [](auto) { return [](int64_t x, int64_t y) { return greatest_common_divisor(x, y); }; });
}

}  // namespace rushlight::portable
