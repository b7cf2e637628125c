#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool rsub_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, const Scalar& alpha,
                     Tensor& out) {
  return alpha.to<float>() == 1.0f && map_binary(context, microkernels::BinaryOp::Sub, b, a, out);
}

}  // namespace rushlight::optimized
