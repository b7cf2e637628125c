#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_bits.h"

namespace rushlight::optimized {

bool bitwise_not_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  if (in.scalar_type() == ScalarType::Bool) return logical_not_out(context, in, out);
  return map_bits(context, BitOp::Xor, in, Scalar(int64_t{-1}), out);
}

}  // namespace rushlight::optimized
