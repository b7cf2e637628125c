#include <limits>

#include "kernels/optimized/dynamic_rows.h"
#include "kernels/optimized/int8_gemm.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/linear_arguments.h"

namespace rushlight::optimized {

bool dynamic_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                        const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token, bool symmetric,
                        int64_t quant_min, int64_t quant_max, double eps, Tensor& out) {
  if (!is_row_major_float(in) || !is_row_major_float(out) || !is_row_major_bytes(weight) ||
      weight.scalar_type() != ScalarType::Char || weight.dim() != 2 || weight.size(1) == 0 || weight_scales.dim() > 1 ||
      (weight_scales.numel() != 1 && weight_scales.numel() != weight.size(0))) {
    return false;
  }
  const int64_t columns = weight.size(0), depth = weight.size(1);
  if (!quantized::require_range(context, quant_min, quant_max, ScalarType::Char) ||
      !quantized::resize_linear(context, in, depth, columns, bias, out) || out.numel() == 0) {
    return true;
  }
  quantized::DynamicRows rows;
  microkernels::Int8Gemm p{};
  p.multiplier = floats_of(context, weight_scales, columns);
  p.offset = bias ? floats_of(context, *bias, columns) : nullptr;
  if (context.failed() ||
      !quantize_dynamic_rows(context, in, {per_token, symmetric, quant_min, quant_max, eps}, &rows)) {
    return true;
  }
  p.m = rows.rows, p.n = columns, p.k = depth;
  p.lhs = reinterpret_cast<const uint8_t*>(rows.numbers), p.lhs_stride = depth;
  p.columns = weight.const_data_ptr<int8_t>(), p.column_stride = depth;
  p.out_kind = microkernels::Int8Gemm::Out::Float32;
  p.zeros = rows.zeros, p.scales = rows.scales, p.row_step = 1;
  p.least = -std::numeric_limits<float>::infinity(), p.most = std::numeric_limits<float>::infinity();
  p.out = out.mutable_data_ptr<float>(), p.out_stride = columns;
  run_int8_gemm(context, p);
  return true;
}

}  // namespace rushlight::optimized
