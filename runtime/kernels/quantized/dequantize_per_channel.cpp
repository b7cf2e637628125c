#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void dequantize_per_channel_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  const Tensor* zeros = zero_points ? &*zero_points : nullptr;
  if (!require_range(context, quant_min, quant_max, dtype) || !require_dtype(context, "the input", in, dtype) ||
      !require_dtype(context, "out", out, out_dtype.value_or(ScalarType::Float)) ||
      !channel_axis(context, in, scales, zeros, &axis) || !resize_out_like(context, out, in)) {
    return;
  }
  dequantize_parts(context, nest_of_axis(out, in, axis), in, out, scales, zeros);
}

}  // namespace rushlight::quantized
