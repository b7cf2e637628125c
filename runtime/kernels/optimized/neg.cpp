#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool neg_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (is_integer(in)) return map_binary(context, microkernels::BinaryOp::Sub, Scalar(int64_t{0}), in, out);
  return map_unary(context, microkernels::UnaryOp::Neg, in, out);
}

}  // namespace rushlight::optimized
