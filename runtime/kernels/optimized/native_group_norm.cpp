#include <algorithm>
#include <cmath>

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/f16_rows.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// The groups of channels of [n, groups * channels, spatial].
struct Groups {
  const float *weights, *biases;  // [groups * channels], or null
  int64_t groups, channels, spatial;
};

// Normalizes groups of float16 or bfloat16 numbers.
bool normalize_halves(KernelRuntimeContext& context, const Tensor& in, const Groups& g, double eps, const Tensor& out,
                      const Tensor& mean, const Tensor& rstd) {
  const Convert store_mean = store_function(ScalarType::Float, mean.scalar_type());
  const Convert store_rstd = store_function(ScalarType::Float, rstd.scalar_type());
  if (!store_mean || !store_rstd) return false;
  const microkernels::F16Type type = f16_type(in.scalar_type());
  const int64_t size = g.channels * g.spatial;
  const uint16_t* const x = static_cast<const uint16_t*>(in.const_data_ptr());
  uint16_t* const y = static_cast<uint16_t*>(out.mutable_data_ptr());
  context.parallel_for(0, in.numel() / size, std::max<int64_t>(1, 8 * 1024 / size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const F16Moments moments = f16_moments(type, x + i * size, size, eps);
      for (int64_t j = 0; j < g.channels; ++j) {
        const int64_t channel = i % g.groups * g.channels + j, offset = i * size + j * g.spatial;
        const float scale = g.weights ? moments.rstd * g.weights[channel] : moments.rstd;
        const float shift = (g.biases ? g.biases[channel] : 0.0f) - moments.mean * scale;
        f16_affine(type, {scale, shift}, x + offset, y + offset, g.spatial);
      }
      store_mean(&moments.mean, 1, at(mean, i), 1, 1);
      store_rstd(&moments.rstd, 1, at(rstd, i), 1, 1);
    }
  });
  return true;
}

}  // namespace

bool native_group_norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t spatial, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const bool is_half = is_f16(in);
  if (!(is_half ? out.scalar_type() == in.scalar_type() : all_float(in, out, mean, rstd)) || !is_row_major(in) ||
      in.numel() == 0) {
    return false;
  }
  if (in.dim() < 2 || in.size(0) != n || in.size(1) != c || in.numel() != n * c * spatial) return false;
  if (group <= 0 || c % group != 0) return false;
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    if (parameter && (parameter->dim() != 1 || parameter->size(0) != c)) return false;
    if (parameter && !is_half && !is_row_major_float(*parameter)) return false;
  }
  if (!resize_out_like(context, out, in) || !resize_out(context, mean, {n, group}) ||
      !resize_out(context, rstd, {n, group})) {
    return true;
  }
  if (!is_row_major(out) || !is_row_major(mean) || !is_row_major(rstd)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t channels = c / group;
  const int64_t size = channels * spatial;
  const float* weights = weight ? as_float32(context, *weight) : nullptr;
  const float* biases = bias ? as_float32(context, *bias) : nullptr;
  if (context.failed()) return true;
  if ((weight && !weights) || (bias && !biases)) return false;
  if (is_half) {
    return normalize_halves(context, in, {weights, biases, group, channels, spatial}, eps, out, mean, rstd);
  }
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  float* means = mean.mutable_data_ptr<float>();
  float* rstds = rstd.mutable_data_ptr<float>();
  context.parallel_for(0, n * group, std::max<int64_t>(1, 8 * 1024 / size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      means[i] = static_cast<float>(kernels.sum(x + i * size, size) / static_cast<double>(size));
      const double variance = kernels.squared_deviations(x + i * size, size, means[i]) / static_cast<double>(size);
      rstds[i] = static_cast<float>(1 / std::sqrt(variance + eps));
      for (int64_t j = 0; j < channels; ++j) {
        const int64_t channel = i % group * channels + j;
        const int64_t offset = i * size + j * spatial;
        const float scale = weights ? rstds[i] * weights[channel] : rstds[i];
        const float shift = (biases ? biases[channel] : 0.0f) - means[i] * scale;
        kernels.unary(microkernels::UnaryOp::Affine, x + offset, y + offset, spatial, scale, shift);
      }
    }
  });
  return true;
}

}  // namespace rushlight::optimized
