#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void maximum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  // The result is NaN if an operand is NaN.
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b),
                            [](auto) { return [](auto x, auto y) { return x < y || y != y ? y : x; }; });
}

}  // namespace rushlight::portable
