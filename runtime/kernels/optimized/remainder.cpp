#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/float_remainder.h"

namespace rushlight::optimized {

bool remainder_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return float_remainder(context, true, a, b, out);
}

bool remainder_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return float_remainder(context, true, a, b, out);
}

}  // namespace rushlight::optimized
