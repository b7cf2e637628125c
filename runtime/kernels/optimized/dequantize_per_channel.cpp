#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_elements.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/channel_arguments.h"

namespace rushlight::optimized {

bool dequantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  if (!quantized::is_byte(in) || !is_float(out) || !is_float(scales) || !zero_points ||
      is_floating(zero_points->scalar_type())) {
    return false;
  }
  if (!quantized::require_range(context, quant_min, quant_max, dtype) ||
      !quantized::require_dtype(context, "the input", in, dtype) ||
      !quantized::require_dtype(context, "out", out, out_dtype.value_or(ScalarType::Float)) ||
      !quantized::channel_axis(context, in, scales, &*zero_points, &axis) || !resize_out_like(context, out, in)) {
    return true;
  }
  const double* const scale = quantized::elements_as_double(context, scales);
  const double* const zero = quantized::elements_as_double(context, *zero_points);
  return context.failed() || dequantize_parts(context, in, out, {scale, zero, axis});
}

}  // namespace rushlight::optimized
