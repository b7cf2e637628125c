#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool ge_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_compare(context, microkernels::CompareOp::GreaterEqual, a, b, out);
}

bool ge_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_compare(context, microkernels::CompareOp::GreaterEqual, a, b, out);
}

}  // namespace rushlight::optimized
