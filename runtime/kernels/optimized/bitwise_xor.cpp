#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_bits.h"

namespace rushlight::optimized {

bool bitwise_xor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_bits(context, BitOp::Xor, a, b, out);
}

bool bitwise_xor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_bits(context, BitOp::Xor, a, b, out);
}

}  // namespace rushlight::optimized
