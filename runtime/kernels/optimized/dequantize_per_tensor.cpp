#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_elements.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"

namespace rushlight::optimized {

bool dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                               int64_t, int64_t, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  if (!quantized::is_byte(in) || !is_float(out)) return false;
  if (!quantized::require_dtype(context, "the input", in, dtype) ||
      !quantized::require_dtype(context, "out", out, out_dtype.value_or(ScalarType::Float)) ||
      !resize_out_like(context, out, in)) {
    return true;
  }
  const double zero = static_cast<double>(zero_point);
  return dequantize_parts(context, in, out, {&scale, &zero});
}

bool dequantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                      const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype, Tensor& out) {
  double factor, zero;
  if (!quantized::single_element(context, "scale", scale, &factor) ||
      !quantized::single_element(context, "zero point", zero_point, &zero)) {
    return true;
  }
  return dequantize_per_tensor_out(context, in, factor, static_cast<int64_t>(zero), quant_min, quant_max, dtype,
                                   out_dtype, out);
}

}  // namespace rushlight::optimized
