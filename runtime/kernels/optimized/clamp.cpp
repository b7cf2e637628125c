#include <limits>

#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_integer.h"
#include "kernels/optimized/elementwise_map.h"

namespace rushlight::optimized {

bool clamp_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max, Tensor& out) {
  if (is_integer(in)) return (min || max) && integer_clamp(context, in, min, max, out);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low = min ? min->to<float>() : -kInfinity;
  const float high = max ? max->to<float>() : kInfinity;
  if ((!min && !max) || low != low || high != high) return false;
  return map_unary(context, microkernels::UnaryOp::Clamp, in, out, low, high);
}

bool clamp_tensor_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max, Tensor& out) {
  return map_clamp(context, in, min, max, out);
}

}  // namespace rushlight::optimized
