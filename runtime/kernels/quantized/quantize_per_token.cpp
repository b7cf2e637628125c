#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void quantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                            const Tensor& zero_points, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                            Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "a zero-dim tensor has no tokens");
  const int64_t length = in.size(in.dim() - 1);
  int64_t tokens = 1;
  for (int64_t d = 0; d + 1 < in.dim(); ++d) tokens *= in.size(d);
  if (!require_range(context, quant_min, quant_max, dtype) || !require_dtype(context, "out", out, dtype) ||
      !require_parts(context, tokens, scales, &zero_points) || !resize_out_like(context, out, in)) {
    return;
  }
  quantize_parts(context, nest_of_groups(out, in, length), in, out, scales, zero_points, quant_min, quant_max);
}

}  // namespace rushlight::quantized
