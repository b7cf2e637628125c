#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

void quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  if (!require_input(context, in, in_zero)) return;
  RL_KERNEL_REQUIRE(context, weight.dim() == 2 && weight.scalar_type() == ScalarType::Char, InvalidArgument,
                    "the weight is %s of rank %lld, not a matrix of int8", dtype_name(weight.scalar_type()),
                    static_cast<long long>(weight.dim()));
  const int64_t columns = weight.size(0), depth = weight.size(1);
  if (!require_output(context, out, quant_min, quant_max) || !resize_linear(context, in, depth, columns, bias, out)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, weight_scales.numel() == columns || weight_scales.numel() == 1, InvalidArgument,
                    "%lld scales do not fit a weight of %lld rows, which needs one scale, or one for each row",
                    static_cast<long long>(weight_scales.numel()), static_cast<long long>(columns));
  const RowMajorInput inputs(context, in);
  const RowMajorInput weights(context, weight);
  RowMajorOutput results(context, out);
  const float* const scales = elements_as_float(context, weight_scales);
  const float* const offsets = bias ? elements_as_float(context, *bias) : nullptr;
  if (context.failed() || out.numel() == 0) return;
  const int64_t rows = quotient(out.numel(), columns);
  const cortex_m::Int8Scales parameters{static_cast<float>(in_scale), scales, weight_scales.numel() == 1 ? 0 : 1,
                                        offsets};
  if constexpr (cortex_m::kHasInt8) {
    cortex_m::Int8Linear linear;
    linear.rows = static_cast<int32_t>(rows), linear.depth = static_cast<int32_t>(depth);
    linear.columns = static_cast<int32_t>(columns);
    linear.sign_mask = cortex_m_sign_mask(in);
    linear.scales = parameters;
    if (cortex_m_zero(in, in_zero, &linear.zero) && set_output(scale, zero, quant_min, quant_max, &linear.output) &&
        cortex_m::multiply(linear, inputs.data<uint8_t>(), weights.data<int8_t>(), results.data<uint8_t>(),
                           cortex_m_scratch(context))) {
      return results.finish();
    }
  }
  const ByteReader read(in);
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const auto in_zero_point = static_cast<int32_t>(in_zero);
  context.parallel_for(0, rows * columns, 8192 / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const uint8_t* const x = inputs.data<uint8_t>() + at / columns * depth;
      const int64_t j = at % columns;
      const int8_t* const w = weights.data<int8_t>() + j * depth;
      uint32_t sum = 0;  // very long sums wrap around
      for (int64_t l = 0; l < depth; ++l) sum += static_cast<uint32_t>((read(x[l]) - in_zero_point) * w[l]);
      const float real = static_cast<float>(static_cast<int32_t>(sum)) * parameters.factor(j);
      results.data<uint8_t>()[at] = requantize(offsets ? real + offsets[j] : real);
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
