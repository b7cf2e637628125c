#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void quantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                              ScalarType dtype, Tensor& out) {
  if (!require_range(context, quant_min, quant_max, dtype) || !require_dtype(context, "out", out, dtype) ||
      !channel_axis(context, in, scales, &zero_points, &axis) || !resize_out_like(context, out, in)) {
    return;
  }
  const double* inverse = elements_as_double(context, scales, true);
  const double* zero = elements_as_double(context, zero_points);
  if (context.failed()) return;
  AffineArithmetic arithmetic;
  const bool wide = scales.scalar_type() == ScalarType::Double || zero_points.scalar_type() == ScalarType::Double;
  arithmetic.common = wide ? ScalarType::Double : ScalarType::Float;
  arithmetic.quant_min = static_cast<double>(quant_min), arithmetic.quant_max = static_cast<double>(quant_max);
  quantize_elements(context, nest_of_axis(out, in, axis), in, out, {inverse, zero}, arithmetic);
}

}  // namespace rushlight::quantized
