#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void fmin_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  // If one operand is NaN, the result is the other operand.
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b),
                            [](auto) { return [](auto x, auto y) { return x <= y || y != y ? x : y; }; });
}

}  // namespace rushlight::portable
