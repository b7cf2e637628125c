#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void erf_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out, [](auto) { return [](auto x) { return std::erf(x); }; });
}

}  // namespace rushlight::portable
