#include "kernels/optimized/elementwise.h"
#include "kernels/optimized/elementwise_map.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::optimized {

bool pow_tensor_scalar_out(KernelRuntimeContext& context, const Tensor& a, const Scalar& b, Tensor& out) {
  struct Power {
    double exponent;
    microkernels::UnaryOp op;
  };
  constexpr Power kPowers[] = {{2, microkernels::UnaryOp::Square},      {0.5, microkernels::UnaryOp::Sqrt},
                               {3, microkernels::UnaryOp::Cube},        {-0.5, microkernels::UnaryOp::Rsqrt},
                               {-1, microkernels::UnaryOp::Reciprocal}, {-2, microkernels::UnaryOp::ReciprocalSquare}};
  if (b.to<double>() == 1 && a.scalar_type() == out.scalar_type() && is_float(a)) {
    if (resize_out_like(context, out, a)) copy_elements(context, a, out);
    return true;
  }
  // Eager PyTorch computes square roots of float16 as powers, which differ at -infinity.
  if (!is_float(a) && b.to<double>() != 2) return false;
  for (const Power& power : kPowers) {
    if (b.to<double>() == power.exponent) return map_unary(context, power.op, a, out);
  }
  return map_wide(context, wide_pow, a, b, out);
}

bool pow_scalar_out(KernelRuntimeContext& context, const Scalar& a, const Tensor& b, Tensor& out) {
  return map_wide(context, wide_pow, a, b, out);
}

bool pow_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return map_wide(context, wide_pow, a, b, out);
}

}  // namespace rushlight::optimized
