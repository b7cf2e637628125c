#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"

namespace rushlight::quantized {

void linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, const Tensor& weight_scales,
                     const std::optional<Tensor>& zero_points, const std::optional<Tensor>& bias, Tensor& out) {
  GroupedWeight w;
  if (!require_dtype(context, "out", out, in.scalar_type()) ||
      !read_weight(context, weight, 4, weight_scales, zero_points, &w) ||
      !resize_linear(context, in, w.columns, w.rows, bias, out)) {
    return;
  }
  dequantized_linear(context, in, w, bias, out);
}

}  // namespace rushlight::quantized
