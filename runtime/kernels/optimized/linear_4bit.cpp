#include "kernels/optimized/grouped_rows.h"
#include "kernels/optimized/quantized.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/shared/axes.h"

namespace rushlight::optimized {

bool linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                     const std::optional<Tensor>& zero_points, const std::optional<Tensor>& bias, Tensor& out) {
  GroupedRows w;
  if (!is_row_major(in) || !is_row_major(out) || !read_rows(weight, 4, weight_scales, zero_points, &w)) return false;
  if (!quantized::require_dtype(context, "out", out, in.scalar_type()) ||
      !quantized::resize_linear(context, in, w.columns, w.rows, bias, out) || out.numel() == 0) {
    return true;
  }
  grouped_linear(context, in, w, bias, out);
  return true;
}

}  // namespace rushlight::optimized
