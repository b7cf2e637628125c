#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool leaky_relu_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& slope, Tensor& out) {
  return map_unary(context, microkernels::UnaryOp::LeakyRelu, in, out, slope.to<float>());
}

}  // namespace rushlight::optimized
