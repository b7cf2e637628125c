#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_bits.h"

namespace rushlight::optimized {

bool bitwise_and_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_bits(context, BitOp::And, a, b, out);
}

bool bitwise_and_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_bits(context, BitOp::And, a, b, out);
}

}  // namespace rushlight::optimized
