#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_bits.h"

namespace rushlight::optimized {

bool logical_and_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_conditions(context, BitOp::And, a, b, out);
}

}  // namespace rushlight::optimized
