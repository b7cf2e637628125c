#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void fake_quant_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const Tensor& zero_points, int64_t axis, int64_t quant_min, int64_t quant_max,
                                Tensor& out) {
  if (!require_dtype(context, "out", out, ScalarType::Float) ||
      !channel_axis(context, in, scales, &zero_points, &axis) || !resize_out_like(context, out, in)) {
    return;
  }
  const double* const scale = elements_as_double(context, scales);
  const double* const zero = elements_as_double(context, zero_points);
  double* const inverse = context.allocate_temporary_array<double>(static_cast<size_t>(scales.numel() + 1));
  if (context.failed()) return;
  for (int64_t i = 0; i < scales.numel(); ++i) inverse[i] = 1.0f / static_cast<float>(scale[i]);
  AffineArithmetic arithmetic;
  arithmetic.common = ScalarType::Float;
  arithmetic.quant_min = static_cast<double>(quant_min), arithmetic.quant_max = static_cast<double>(quant_max);
  fake_quantize_elements(context, nest_of_axis(out, in, axis), in, out, {scale, zero}, inverse, arithmetic);
}

}  // namespace rushlight::quantized
