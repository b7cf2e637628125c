#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void log2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out, [](auto) { return [](auto x) { return std::log2(x); }; });
}

}  // namespace rushlight::portable
