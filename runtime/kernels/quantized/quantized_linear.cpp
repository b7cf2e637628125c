#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

void quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t least, int64_t most, Tensor& out) {
  GroupedWeight w;
  RL_KERNEL_REQUIRE(context, is_byte(in), InvalidType, "the input is %s, not int8 or uint8",
                    dtype_name(in.scalar_type()));
  if (!require_output(context, out, least, most) || !read_weight(context, weight, 8, weight_scales, std::nullopt, &w) ||
      !resize_linear(context, in, w.columns, w.rows, bias, out)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, w.group >= w.columns && !w.is_unsigned, InvalidArgument,
                    "the weight is int8 with one scale a row");
  const RowMajorInput inputs(context, in);
  RowMajorOutput results(context, out);
  const double* const offsets = bias ? numbers_of(context, *bias) : nullptr;
  if (context.failed() || out.numel() == 0) return;
  const ByteReader read(in);
  const Requantizer requantize(scale, zero, least, most);
  const int64_t columns = w.rows, depth = w.columns, rows = out.numel() / columns;
  const auto in_zero_point = static_cast<int32_t>(in_zero);
  context.parallel_for(0, rows * columns, 8192 / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const uint8_t* const x = inputs.data<uint8_t>() + at / columns * depth;
      const int64_t j = at % columns;
      int32_t sum = 0;
      for (int64_t l = 0; l < depth; ++l) sum += (read(x[l]) - in_zero_point) * w.number(j, l);
      const float factor = static_cast<float>(w.scales[w.part(j, 0)]) * static_cast<float>(in_scale);
      const float real = static_cast<float>(sum) * factor;
      results.data<uint8_t>()[at] = requantize(offsets ? real + static_cast<float>(offsets[j]) : real);
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
