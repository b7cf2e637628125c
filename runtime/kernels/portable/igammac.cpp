#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/gamma.h"

namespace rushlight::portable {

void igammac_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& x, Tensor& out) {
  elementwise<kinds::kFloating>(context, {a, x}, out, float_result(result_type(a, x)), [](auto c) {
    using C = decltype(c);
    return
        [](C u, C v) { return static_cast<C>(incomplete_gamma(true, static_cast<double>(u), static_cast<double>(v))); };
  });
}

}  // namespace rushlight::portable
