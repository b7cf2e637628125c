#include "kernels/quantized/affine.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void dequantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t, int64_t, ScalarType, ScalarType out_dtype,
                              Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() > 0, InvalidArgument, "a zero-dim tensor has no tokens");
  const int64_t length = in.size(in.dim() - 1);
  int64_t tokens = 1;
  for (int64_t d = 0; d + 1 < in.dim(); ++d) tokens *= in.size(d);
  if (!require_dtype(context, "out", out, out_dtype) || !require_parts(context, tokens, scales, &zero_points) ||
      !resize_out_like(context, out, in)) {
    return;
  }
  dequantize_parts(context, nest_of_groups(out, in, length), in, out, scales, &zero_points);
}

}  // namespace rushlight::quantized
