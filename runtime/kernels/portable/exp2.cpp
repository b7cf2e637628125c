#include <cmath>

#include "kernels/portable/elementwise.h"
#include "kernels/shared/elementwise.h"

namespace rushlight::portable {

void exp2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  elementwise_float(context, in, out, [](auto) { return [](auto x) { return std::exp2(x); }; });
}

}  // namespace rushlight::portable
