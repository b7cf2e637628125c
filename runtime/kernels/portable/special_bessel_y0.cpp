#include <math.h>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

// The C library computes this function (POSIX).
void special_bessel_y0_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out,
                    [](auto) { return [](auto x) { return static_cast<decltype(x)>(::y0(static_cast<double>(x))); }; });
}

}  // namespace rushlight::portable
