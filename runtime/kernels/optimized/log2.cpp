#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool log2_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_unary(context, microkernels::UnaryOp::Log2, in, out);
}

}  // namespace rushlight::optimized
