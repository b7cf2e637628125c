#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool mul_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_binary(context, microkernels::BinaryOp::Mul, a, b, out);
}

bool mul_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_binary(context, microkernels::BinaryOp::Mul, a, b, out);
}

}  // namespace rushlight::optimized
