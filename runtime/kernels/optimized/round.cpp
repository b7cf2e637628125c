#include <cmath>

#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;

bool round_out(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  return map_rounding(context, microkernels::UnaryOp::Round, in, out);
}

bool round_decimals_out(KernelRuntimeContext& context, const Tensor& in, int64_t decimals, Tensor& out) {
  if (!is_float(in)) return false;
  const float scale = std::pow(10.0f, std::abs(static_cast<float>(decimals)));
  const BinaryOp there = decimals < 0 ? BinaryOp::Div : BinaryOp::Mul;
  const BinaryOp back = decimals < 0 ? BinaryOp::Mul : BinaryOp::Div;
  return map_binary(context, there, in, Scalar(double{scale}), out) && round_out(context, out, out) &&
         map_binary(context, back, out, Scalar(double{scale}), out);
}

}  // namespace rushlight::optimized
