#include <algorithm>
#include <cmath>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

bool native_group_norm_out(KernelRuntimeContext& context, const Tensor& in, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t spatial, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  if (!is_row_major_float(in) || in.numel() == 0 || !all_float(out, mean, rstd)) return false;
  if (in.dim() < 2 || in.size(0) != n || in.size(1) != c || in.numel() != n * c * spatial) return false;
  if (group <= 0 || c % group != 0) return false;
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    if (parameter && (!is_row_major_float(*parameter) || parameter->dim() != 1 || parameter->size(0) != c))
      return false;
  }
  if (!resize_out_like(context, out, in) || !resize_out(context, mean, {n, group}) ||
      !resize_out(context, rstd, {n, group})) {
    return true;
  }
  if (!is_row_major(out) || !is_row_major(mean) || !is_row_major(rstd)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t channels = c / group;
  const int64_t size = channels * spatial;
  const float* x = in.const_data_ptr<float>();
  const float* weights = weight ? weight->const_data_ptr<float>() : nullptr;
  const float* biases = bias ? bias->const_data_ptr<float>() : nullptr;
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
