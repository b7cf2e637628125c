#include "kernels/optimized/int8_gemm.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/linear_arguments.h"

namespace rushlight::optimized {

bool quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  if (!is_row_major_bytes(in) || !is_row_major_bytes(out) || !is_row_major_bytes(weight) || weight.dim() != 2 ||
      weight.scalar_type() != ScalarType::Char || weight_scales.dim() > 1 ||
      (weight_scales.numel() != 1 && weight_scales.numel() != weight.size(0)) || !is_small_zero(zero) ||
      !is_small_zero(in_zero)) {
    return false;
  }
  const int64_t columns = weight.size(0), depth = weight.size(1);
  if (!quantized::require_output(context, out, quant_min, quant_max) ||
      !quantized::resize_linear(context, in, depth, columns, bias, out)) {
    return true;
  }
  microkernels::Int8Gemm p{};
  if (out.numel() == 0 || !requantize_to(context, {in_scale, weight_scales, bias, scale, zero, quant_min, quant_max},
                                         columns, &p.requantize)) {
    return true;
  }
  const auto zero_point = static_cast<int32_t>(zero_of(in, in_zero));
  p.m = out.numel() / columns, p.n = columns, p.k = depth;
  p.lhs = in.const_data_ptr<uint8_t>(), p.lhs_stride = depth, p.sign_mask = sign_mask_of(in);
  p.columns = weight.const_data_ptr<int8_t>(), p.column_stride = depth;
  p.out_kind = microkernels::Int8Gemm::Out::Quantized;
  p.zeros = &zero_point;
  p.out = out.mutable_data_ptr<uint8_t>(), p.out_stride = columns;
  run_int8_gemm(context, p);
  return true;
}

}  // namespace rushlight::optimized
