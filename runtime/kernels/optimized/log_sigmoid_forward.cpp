#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

using microkernels::UnaryOp;

bool log_sigmoid_forward_output(KernelRuntimeContext& context, const Tensor& in, Tensor& out, Tensor& buffer) {
  // The buffer receives exp(-|x|).
  if (buffer.numel() > 0 &&
      !(map_unary(context, UnaryOp::Abs, in, buffer) && map_unary(context, UnaryOp::Neg, buffer, buffer) &&
        map_unary(context, UnaryOp::Exp, buffer, buffer))) {
    return false;
  }
  // The logarithm of sigmoid(x) is -softplus(-x), which is x where -x is above the threshold.
  constexpr float kThreshold = 20;
  return map_unary(context, UnaryOp::Softplus, in, out, -1, kThreshold);
}

}  // namespace rushlight::optimized
