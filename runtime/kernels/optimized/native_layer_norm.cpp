#include <algorithm>

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
