#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool log10_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_unary(context, microkernels::UnaryOp::Log10, in, out);
}

}  // namespace rushlight::optimized
