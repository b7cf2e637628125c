#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool ceil_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_rounding(context, microkernels::UnaryOp::Ceil, in, out);
}

}  // namespace rushlight::optimized
