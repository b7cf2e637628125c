#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_elements.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/channel_arguments.h"

namespace rushlight::optimized {

bool quantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                              ScalarType dtype, Tensor& out) {
  if (!is_float(in) || !quantized::is_byte(out) || !is_float(scales) || is_floating(zero_points.scalar_type())) {
    return false;
  }
  if (!quantized::require_range(context, quant_min, quant_max, dtype) ||
      !quantized::require_dtype(context, "out", out, dtype) ||
      !quantized::channel_axis(context, in, scales, &zero_points, &axis) || !resize_out_like(context, out, in)) {
    return true;
  }
  const double* const inverse = quantized::elements_as_double(context, scales, true);
  const double* const zero = quantized::elements_as_double(context, zero_points);
  return context.failed() || quantize_parts(context, in, out, {inverse, zero, axis}, quant_min, quant_max);
}

}  // namespace rushlight::optimized
