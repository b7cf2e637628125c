#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool softplus_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& beta, const Scalar& threshold,
                  Tensor& out) {
  return map_unary(context, microkernels::UnaryOp::Softplus, in, out, beta.to<float>(), threshold.to<float>());
}

}  // namespace rushlight::optimized
