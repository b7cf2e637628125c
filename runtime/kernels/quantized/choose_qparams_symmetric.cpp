#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/choose.h"

namespace rushlight::quantized {

void choose_qparams_symmetric_tensor_out(KernelRuntimeContext& context, const Tensor& in, int64_t quant_min,
                                         int64_t quant_max, double eps, ScalarType dtype, Tensor& scale,
                                         Tensor& zero_point) {
  Extremes extremes;
  RL_KERNEL_REQUIRE(context, kQuantized.contains(dtype), InvalidType, "cannot quantize to %s", dtype_name(dtype));
  if (!require_levels(context, quant_min, quant_max)) return;
  if (!extremes_of(context, in, &extremes)) return;
  set_chosen(context, choose_symmetric(extremes, in.scalar_type(), quant_min, quant_max, eps, dtype), scale,
             zero_point);
}

}  // namespace rushlight::quantized
