#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool sign_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_unary(context, microkernels::UnaryOp::Sign, in, out);
}

}  // namespace rushlight::optimized
