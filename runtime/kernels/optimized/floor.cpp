#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool floor_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_rounding(context, microkernels::UnaryOp::Floor, in, out);
}

}  // namespace rushlight::optimized
