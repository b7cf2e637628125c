#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool minimum_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_binary(context, microkernels::BinaryOp::Minimum, a, b, out);
}

}  // namespace rushlight::optimized
