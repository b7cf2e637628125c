#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/float_remainder.h"

namespace rushlight::optimized {

bool fmod_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return float_remainder(context, false, a, b, out);
}

bool fmod_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return float_remainder(context, false, a, b, out);
}

}  // namespace rushlight::optimized
