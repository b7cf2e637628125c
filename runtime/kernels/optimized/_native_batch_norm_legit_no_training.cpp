#include <algorithm>
#include <cmath>

#include "kernels/optimized/elementwise_f16.h"
#include "kernels/optimized/f16_rows.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/batch_norm.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

// Shorter rows of float16 or bfloat16 are not faster than in the portable kernel.
constexpr int64_t kMinHalves = 16;

// Scales and shifts the channels of row-major tensors x and y [batch, channels, spatial].
struct BatchNorm {
  const microkernels::F32Microkernels& kernels;
  const float *means, *variances;  // [channels]
  const float *weights, *biases;   // [channels] or null
  double eps;
  int64_t batch, channels, spatial;

  void set_factors(int64_t channel, float* scale, float* shift) const {
    const float rstd = static_cast<float>(1 / std::sqrt(static_cast<double>(variances[channel]) + eps));
    *scale = weights ? rstd * weights[channel] : rstd;
    *shift = (biases ? biases[channel] : 0.0f) - means[channel] * *scale;
  }

  // For a single element in each channel: computes a part of a row at a time.
  void normalize_rows(KernelRuntimeContext& context, const float* x, float* y) const {
    constexpr int64_t kChunk = 256;
    context.parallel_for(0, (channels + kChunk - 1) / kChunk, 1 + 64 / batch, [&](int64_t begin, int64_t end) {
      float scales[kChunk], shifts[kChunk];
      for (int64_t first = begin * kChunk; first < std::min(channels, end * kChunk); first += kChunk) {
        const int64_t n = std::min(kChunk, channels - first);
        for (int64_t i = 0; i < n; ++i) set_factors(first + i, scales + i, shifts + i);
        for (int64_t at = first; at < batch * channels; at += channels) {
          kernels.binary(microkernels::BinaryOp::Mul, x + at, 1, scales, 1, y + at, n, 0);
          kernels.binary(microkernels::BinaryOp::Add, y + at, 1, shifts, 1, y + at, n, 0);
        }
      }
    });
  }

  void normalize_planes(KernelRuntimeContext& context, const float* x, float* y) const {
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / spatial);
    context.parallel_for(0, batch * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float scale, shift;
        set_factors(i % channels, &scale, &shift);
        kernels.unary(microkernels::UnaryOp::Affine, x + i * spatial, y + i * spatial, spatial, scale, shift);
      }
    });
  }

  // For float16 and bfloat16.
  void normalize_halves(KernelRuntimeContext& context, const Tensor& in, const Tensor& out) const {
    const microkernels::F16Type type = f16_type(in.scalar_type());
    const uint16_t* const x = static_cast<const uint16_t*>(in.const_data_ptr());
    uint16_t* const y = static_cast<uint16_t*>(out.mutable_data_ptr());
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / spatial);
    context.parallel_for(0, batch * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        F16Affine affine;
        set_factors(i % channels, &affine.scale, &affine.shift);
        f16_affine(type, affine, x + i * spatial, y + i * spatial, spatial);
      }
    });
  }
};

}  // namespace

bool native_batch_norm_legit_no_training_out(KernelRuntimeContext& context, const Tensor& in,
                                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                             const Tensor& running_mean, const Tensor& running_var, double, double eps,
                                             Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  const bool is_half = is_f16(in);
  if (in.dim() < 2 || !(is_half ? out.scalar_type() == in.scalar_type() : all_float(in, out)) || !is_row_major(in) ||
      in.numel() == 0) {
    return false;
  }
  const int64_t channels = in.size(1), spatial = in.numel() / (in.size(0) * channels);
  if (is_half && spatial < kMinHalves) return false;
  for (const std::optional<Tensor>& vector :
       {weight, bias, std::optional<Tensor>(running_mean), std::optional<Tensor>(running_var)}) {
    if (vector && (!fits_channels(*vector, channels) || (!is_half && !is_row_major_float(*vector)))) return false;
  }
  if (!resize_out_like(context, out, in) || !resize_out(context, save_mean, {0}) ||
      !resize_out(context, save_invstd, {0})) {
    return true;
  }
  if (!is_row_major(out)) return false;
  const BatchNorm norm{microkernels::f32_microkernels(),
                       as_float32(context, running_mean),
                       as_float32(context, running_var),
                       weight ? as_float32(context, *weight) : nullptr,
                       bias ? as_float32(context, *bias) : nullptr,
                       eps,
                       in.size(0),
                       channels,
                       spatial};
  if (context.failed()) return true;
  if (!norm.means || !norm.variances || (weight && !norm.weights) || (bias && !norm.biases)) return false;
  if (is_half) {
    norm.normalize_halves(context, in, out);
    return true;
  }
  const float* const x = in.const_data_ptr<float>();
  float* const y = out.mutable_data_ptr<float>();
  norm.spatial == 1 ? norm.normalize_rows(context, x, y) : norm.normalize_planes(context, x, y);
  return true;
}

}  // namespace rushlight::optimized
