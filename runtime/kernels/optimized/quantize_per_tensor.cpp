#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_elements.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"

namespace rushlight::optimized {

bool quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                             int64_t quant_min, int64_t quant_max, ScalarType dtype, Tensor& out) {
  if (!is_float(in) || !quantized::is_byte(out)) return false;
  if (!quantized::require_range(context, quant_min, quant_max, dtype) ||
      !quantized::require_dtype(context, "out", out, dtype) || !resize_out_like(context, out, in)) {
    return true;
  }
  const double inverse = static_cast<float>(1.0 / scale), zero = static_cast<double>(zero_point);
  return quantize_parts(context, in, out, {&inverse, &zero}, quant_min, quant_max);
}

bool quantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    Tensor& out) {
  double factor, zero;
  if (!quantized::single_element(context, "scale", scale, &factor) ||
      !quantized::single_element(context, "zero point", zero_point, &zero)) {
    return true;
  }
  return quantize_per_tensor_out(context, in, factor, static_cast<int64_t>(zero), quant_min, quant_max, dtype, out);
}

}  // namespace rushlight::optimized
