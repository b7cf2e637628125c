#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"

namespace rushlight::optimized {

namespace {

// Supports the rounding mode "trunc" of floating-point numbers.
template <typename Other>
bool truncated(KernelRuntimeContext& context, const Tensor& a, const Other& b,
               std::optional<std::string_view> rounding_mode, Tensor& out) {
  return rounding_mode == "trunc" && is_float(a) && is_float(out) &&
         map_binary(context, microkernels::BinaryOp::Div, a, b, out) &&
         (context.failed() || map_unary(context, microkernels::UnaryOp::Trunc, out, out));
}

}  // namespace

bool div_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_binary(context, microkernels::BinaryOp::Div, a, b, out);
}

bool div_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  return map_binary(context, microkernels::BinaryOp::Div, a, b, out);
}

bool div_out_mode(KernelRuntimeContext& context, const Tensor& a, const Tensor& b,
                  std::optional<std::string_view> rounding_mode, Tensor& out) {
  return truncated(context, a, b, rounding_mode, out);
}

bool div_scalar_mode_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b,
                         std::optional<std::string_view> rounding_mode, Tensor& out) {
  return truncated(context, a, b, rounding_mode, out);
}

}  // namespace rushlight::optimized
