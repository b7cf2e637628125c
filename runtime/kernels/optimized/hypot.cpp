#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/wide_functions.h"

namespace rushlight::optimized {

bool hypot_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_wide(context, wide_hypot, a, b, out);
}

}  // namespace rushlight::optimized
