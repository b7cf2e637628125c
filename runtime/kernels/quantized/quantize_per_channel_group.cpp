#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void quantize_per_channel_group_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                    const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    int64_t group_size, Tensor& out) {
  const int64_t group = group_length(context, in, scales, group_size);
  if (context.failed() || !require_range(context, quant_min, quant_max, dtype) ||
      !require_dtype(context, "out", out, dtype) || !resize_out_like(context, out, in) ||
      !require_parts(context, group > 0 ? in.numel() / group : 0, scales, &zero_points)) {
    return;
  }
  quantize_parts(context, nest_of_groups(out, in, group), in, out, scales, zero_points, quant_min, quant_max);
}

}  // namespace rushlight::quantized
