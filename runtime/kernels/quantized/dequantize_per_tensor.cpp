#include "kernels/quantized/affine.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/shared/shape.h"

namespace rushlight::quantized {

void dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& in, double scale, int64_t zero_point,
                               int64_t, int64_t, ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  const ScalarType result = out_dtype.value_or(ScalarType::Float);
  RL_KERNEL_REQUIRE(context, dtypes::kFloatH.contains(result), InvalidType, "cannot dequantize to %s",
                    dtype_name(result));
  if (!require_dtype(context, "the input", in, dtype) || !require_dtype(context, "out", out, result) ||
      !resize_out_like(context, out, in)) {
    return;
  }
  if constexpr (cortex_m::kHasInt8) {
    cortex_m::Int8Operand operand{nullptr, 1, cortex_m_sign_mask(in), 0, static_cast<float>(scale)};
    if (is_byte(in) && result == ScalarType::Float && same_dim_order(in, out) && cortex_m::is_usual(operand.scale) &&
        cortex_m_zero(in, zero_point, &operand.zero)) {
      operand.data = in.const_data_ptr<uint8_t>();
      return cortex_m::dequantize(operand, static_cast<int32_t>(in.numel()), out.mutable_data_ptr<float>());
    }
  }
  const double zero = static_cast<double>(zero_point);
  AffineArithmetic arithmetic;
  arithmetic.common = result;
  dequantize_elements(context, nest_of_whole(out, in), in, out, {&scale, &zero}, arithmetic);
}

void dequantize_per_tensor_tensor_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                      const Tensor& zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype, Tensor& out) {
  double factor, zero;
  if (!single_element(context, "scale", scale, &factor) || !single_element(context, "zero point", zero_point, &zero))
    return;
  dequantize_per_tensor_out(context, in, factor, static_cast<int64_t>(zero), quant_min, quant_max, dtype, out_dtype,
                            out);
}

void dequantize_per_tensor_tensor2_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scale,
                                       const Tensor& zero_point, const Tensor&, const Tensor&, ScalarType dtype,
                                       std::optional<ScalarType> out_dtype, Tensor& out) {
  dequantize_per_tensor_tensor_out(context, in, scale, zero_point, 0, 0, dtype, out_dtype, out);
}

}  // namespace rushlight::quantized
