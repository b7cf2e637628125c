#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool celu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& alpha, Tensor& out) {
  return alpha.to<double>() == 1 && map_unary(context, microkernels::UnaryOp::Elu, in, out, 1, 1);
}

}  // namespace rushlight::optimized
