#include <algorithm>
#include <cmath>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduction.h"
#include "kernels/shared/reduce.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

bool native_layer_norm_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                           Tensor& out, Tensor& mean, Tensor& rstd) {
  const int64_t lead = in.dim() - static_cast<int64_t>(normalized_shape.size());
  if (!is_row_major_float(in) || in.numel() == 0 || !all_float(out, mean, rstd) || lead < 0) return false;
  int64_t n = 1;
  DimMask mask = 0;
  for (int64_t d = lead; d < in.dim(); ++d) {
    if (in.size(d) != normalized_shape[static_cast<size_t>(d - lead)]) return false;
    n *= in.size(d);
    mask |= DimMask(1) << d;
  }
  for (const std::optional<Tensor>& parameter : {weight, bias}) {
    if (!parameter) continue;
    if (!is_row_major_float(*parameter) || parameter->dim() != in.dim() - lead) return false;
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
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* x = in.const_data_ptr<float>();
  const float* scale = weight ? weight->const_data_ptr<float>() : nullptr;
  const float* shift = bias ? bias->const_data_ptr<float>() : nullptr;
  float* y = out.mutable_data_ptr<float>();
  float* means = mean.mutable_data_ptr<float>();
  float* rstds = rstd.mutable_data_ptr<float>();
  context.parallel_for(0, in.numel() / n, std::max<int64_t>(1, 8 * 1024 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      means[i] = static_cast<float>(kernels.sum(x + i * n, n) / static_cast<double>(n));
      const double variance = kernels.squared_deviations(x + i * n, n, means[i]) / static_cast<double>(n);
      rstds[i] = static_cast<float>(1 / std::sqrt(variance + eps));
      kernels.normalize(x + i * n, y + i * n, n, means[i], rstds[i], scale, shift);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
