#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool hardtanh_out(KernelRuntimeContext& context, const Tensor& in, const Scalar& min, const Scalar& max, Tensor& out) {
  const float low = min.to<float>(), high = max.to<float>();
  return low == low && high == high && map_unary(context, microkernels::UnaryOp::Clamp, in, out, low, high);
}

}  // namespace rushlight::optimized
