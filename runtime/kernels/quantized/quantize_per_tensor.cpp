#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                             int64_t quant_min, int64_t quant_max, ScalarType dtype, Tensor& out) {
  if (!require_range(context, quant_min, quant_max, dtype) || !require_dtype(context, "out", out, dtype) ||
      !resize_out_like(context, out, in)) {
    return;
  }
  if constexpr (cortex_m::kHasInt8) {
    cortex_m::Int8Output output;
    if (in.scalar_type() == ScalarType::Float && is_byte(out) && same_dim_order(in, out) &&
        set_output(scale, zero_point, quant_min, quant_max, &output)) {
      return cortex_m::quantize(in.const_data_ptr<float>(), static_cast<int32_t>(in.numel()), output,
                                out.mutable_data_ptr<uint8_t>());
    }
  }
  const double inverse = Requantizer(scale, zero_point, quant_min, quant_max).inverse;
  const double zero = static_cast<double>(zero_point);
  AffineArithmetic arithmetic;
  arithmetic.common = ScalarType::Float;
  arithmetic.quant_min = static_cast<double>(quant_min), arithmetic.quant_max = static_cast<double>(quant_max);
  quantize_elements(context, nest_of_whole(out, in), in, out, {&inverse, &zero}, arithmetic);
}

void quantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    Tensor& out) {
  double factor, zero;
  if (!single_element(context, "scale", scale, &factor) || !single_element(context, "zero point", zero_point, &zero))
    return;
  quantize_per_tensor_out(context, in, factor, static_cast<int64_t>(zero), quant_min, quant_max, dtype, out);
}

void quantize_per_tensor_tensor2_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                     const Tensor& zero_point, const Tensor& quant_min, const Tensor& quant_max,
                                     ScalarType dtype, Tensor& out) {
  double minimum, maximum;
  if (!single_element(context, "quant_min", quant_min, &minimum) ||
      !single_element(context, "quant_max", quant_max, &maximum))
    return;
  quantize_per_tensor_tensor_out(context, in, scale, zero_point, static_cast<int64_t>(minimum),
                                 static_cast<int64_t>(maximum), dtype, out);
}

}  // namespace rushlight::quantized
