#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool relu_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (is_integer(in)) return integer_clamp(context, in, Scalar(0), std::nullopt, out);
  return map_unary(context, microkernels::UnaryOp::Relu, in, out);
}

}  // namespace rushlight::optimized
