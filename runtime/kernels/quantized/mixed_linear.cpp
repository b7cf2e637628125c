#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"

namespace rushlight::quantized {

void mixed_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                      const Tensor& weight_scales, const std::optional<Tensor>& zero_points,
                      std::optional<ScalarType> dtype, Tensor& out) {
  GroupedWeight w;
  if (!require_dtype(context, "out", out, dtype.value_or(in.scalar_type())) ||
      !read_weight(context, weight, 8, weight_scales, zero_points, &w) ||
      !resize_linear(context, in, w.columns, w.rows, std::nullopt, out)) {
    return;
  }
  dequantized_linear(context, in, w, std::nullopt, out);
}

}  // namespace rushlight::quantized
