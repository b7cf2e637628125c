#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void heaviside_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  elementwise<kinds::kReal>(context, {a, b}, out, result_type(a, b), [](auto) {
    return [](auto x, auto y) { return x == decltype(x)(0) ? y : decltype(x)(x > 0); };
  });
}

}  // namespace rushlight::portable
