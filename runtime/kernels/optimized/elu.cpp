#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool elu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out) {
  const float above = scale.to<float>();
  return input_scale.to<float>() == 1 &&
         map_unary(context, microkernels::UnaryOp::Elu, in, out, alpha.to<float>() * above, above);
}

}  // namespace rushlight::optimized
