#include <algorithm>

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/f16_rows.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/reduce.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// Normalizes rows of n float16 or bfloat16 numbers.
bool normalize_halves(KernelRuntimeContext& context, const Tensor& in, int64_t n, const std::optional<Tensor>& weight,
                      const std::optional<Tensor>& bias, double eps, const Tensor& out, const Tensor& mean,
                      const Tensor& rstd) {
  const Convert store_mean = store_function(ScalarType::Float, mean.scalar_type());
  const Convert store_rstd = store_function(ScalarType::Float, rstd.scalar_type());
  const float* const weights = weight ? as_float32(context, *weight) : nullptr;
  const float* const biases = bias ? as_float32(context, *bias) : nullptr;
  if (context.failed()) return true;
  if ((weight && !weights) || (bias && !biases) || !store_mean || !store_rstd) return false;
  const microkernels::F16Type type = f16_type(in.scalar_type());
  const uint16_t* const x = static_cast<const uint16_t*>(in.const_data_ptr());
  uint16_t* const y = static_cast<uint16_t*>(out.mutable_data_ptr());
  context.parallel_for(0, in.numel() / n, std::max<int64_t>(1, 8 * 1024 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const F16Moments moments = f16_moments(type, x + i * n, n, eps);
      f16_affine(type, {moments.rstd, -moments.mean * moments.rstd, weights, biases}, x + i * n, y + i * n, n);
      store_mean(&moments.mean, 1, at(mean, i), 1, 1);
      store_rstd(&moments.rstd, 1, at(rstd, i), 1, 1);
    }
  });
  return true;
}

}  // namespace

bool native_layer_norm_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                           Tensor& out, Tensor& mean, Tensor& rstd) {
  const int64_t lead = in.dim() - static_cast<int64_t>(normalized_shape.size());
  const bool is_half = is_f16(in);
  if (!(is_half ? out.scalar_type() == in.scalar_type() : all_float(in, out, mean, rstd)) || lead < 0 ||
      !is_row_major(in) || in.numel() == 0) {
    return false;
  }
  int64_t n = 1;
  DimMask mask = 0;
  for (int64_t d = lead; d < in.dim(); ++d) {
    if (in.size(d) != normalized_shape[static_cast<size_t>(d - lead)]) return false;
    n *= in.size(d);
    mask |= DimMask(1) << d;
  }
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    if (!parameter) continue;
    if (!is_row_major_float(*parameter) && !is_half) return false;
    if (parameter->dim() != in.dim() - lead) return false;
    for (int64_t d = lead; d < in.dim(); ++d) {
      if (parameter->size(d - lead) != in.size(d)) return false;
    }
  }
  const Shape statistics = reduced_shape(in, mask, true);
  if (!resize_out_like(context, out, in) || !resize_out(context, mean, statistics.span()) ||
      !resize_out(context, rstd, statistics.span())) {
    return true;
  }
  if (!is_row_major(out) || !is_row_major(mean) || !is_row_major(rstd)) return false;
  if (is_half) return normalize_halves(context, in, n, weight, bias, eps, out, mean, rstd);
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  float* means = mean.mutable_data_ptr<float>();
  float* rstds = rstd.mutable_data_ptr<float>();
  context.parallel_for(0, in.numel() / n, std::max<int64_t>(1, 8 * 1024 / n), [&](int64_t begin, int64_t end) {
    microkernels::NormalizedRows rows;
    rows.x = x + begin * n, rows.y = y + begin * n;
    rows.x_step = rows.y_step = rows.n = n;
    rows.rows = end - begin;
    rows.epsilon = eps;
    rows.weight = weight ? weight->const_data_ptr<float>() : nullptr;
    rows.bias = bias ? bias->const_data_ptr<float>() : nullptr;
    rows.means = means + begin, rows.scales = rstds + begin;
    kernels.normalize_rows(rows);
  });
  return true;
}

}  // namespace rushlight::optimized
