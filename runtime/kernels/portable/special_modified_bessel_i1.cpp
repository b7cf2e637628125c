#include "kernels/portable/elementwise.h"
#include "kernels/shared/bessel.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void special_modified_bessel_i1_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out, [](auto) {
    return [](auto x) { return static_cast<decltype(x)>(bessel_i(1, static_cast<double>(x))); };
  });
}

}  // namespace rushlight::portable
