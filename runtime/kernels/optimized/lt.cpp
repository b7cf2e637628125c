#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool lt_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_compare(context, microkernels::CompareOp::Less, a, b, out);
}

bool lt_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_compare(context, microkernels::CompareOp::Less, a, b, out);
}

}  // namespace rushlight::optimized
