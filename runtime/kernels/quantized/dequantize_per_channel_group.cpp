#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void dequantize_per_channel_group_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                                      const std::optional<Tensor>& zero_points, int64_t, int64_t, ScalarType,
                                      int64_t group_size, ScalarType out_dtype, Tensor& out) {
  const Tensor* zeros = zero_points ? &*zero_points : nullptr;
  const int64_t group = group_length(context, in, scales, group_size);
  if (context.failed() || !require_dtype(context, "out", out, out_dtype) || !resize_out_like(context, out, in) ||
      !require_parts(context, group > 0 ? in.numel() / group : 0, scales, zeros)) {
    return;
  }
  dequantize_parts(context, nest_of_groups(out, in, group), in, out, scales, zeros);
}

}  // namespace rushlight::quantized
