#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/channel_arguments.h"
#include "kernels/shared/shape.h"

namespace rushlight::optimized {

namespace {

// Scales are double, as choose_qparams computes them. Products are rounded to float32 once.
template <typename T>
void dequantize_row(const T* x, int64_t n, double scale, int32_t zero, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<double>(int32_t{x[i]} - zero) * scale);
}

}  // namespace

bool dequantize_per_token_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales,
                              const Tensor& zero_points, int64_t, int64_t, ScalarType, ScalarType out_dtype,
                              Tensor& out) {
  constexpr int64_t kGrain = 16 * 1024, kMaxZero = 1 << 20;
  const bool is_signed = in.scalar_type() == ScalarType::Char;
  if ((!is_signed && in.scalar_type() != ScalarType::Byte) || !is_row_major_float(out) ||
      out_dtype != ScalarType::Float || scales.scalar_type() != ScalarType::Double ||
      zero_points.scalar_type() != ScalarType::Long || in.dim() == 0 || !is_row_major(in)) {
    return false;
  }
  const int64_t length = in.size(in.dim() - 1), tokens = length == 0 ? 0 : in.numel() / length;
  const int64_t* const zeros = zero_points.const_data_ptr<int64_t>();
  if (tokens == 0 || scales.numel() != tokens || zero_points.numel() != tokens) return false;
  for (int64_t i = 0; i < tokens; ++i) {
    if (zeros[i] < -kMaxZero || zeros[i] > kMaxZero) return false;
  }
  if (!resize_out_like(context, out, in)) return true;
  if (!is_row_major(out)) return false;
  const double* const factors = scales.const_data_ptr<double>();
  context.parallel_for(0, tokens, kGrain / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto zero = static_cast<int32_t>(zeros[i]);
      float* const y = out.mutable_data_ptr<float>() + i * length;
      if (is_signed) {
        dequantize_row(in.const_data_ptr<int8_t>() + i * length, length, factors[i], zero, y);
      } else {
        dequantize_row(in.const_data_ptr<uint8_t>() + i * length, length, factors[i], zero, y);
      }
    }
  });
  return true;
}

}  // namespace rushlight::optimized
