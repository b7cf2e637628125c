#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"

namespace rushlight::optimized {

bool atan2_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return all_float(a, b) && map_binary(context, microkernels::BinaryOp::Atan2, a, b, out);
}

}  // namespace rushlight::optimized
