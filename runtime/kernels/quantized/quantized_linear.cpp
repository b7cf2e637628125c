#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

namespace {

// Computes with the loops for Cortex-M. Returns false if they do not support the arguments.
[[maybe_unused]] bool multiply_on_cortex_m(KernelRuntimeContext& context, const uint8_t* rows, const Tensor& in,
                                           int64_t in_zero, const int8_t* weights, const OutputParameters& parameters,
                                           const Requantizer& requantize, int64_t count, int64_t depth, int64_t columns,
                                           uint8_t* results) {
  cortex_m::Int8Output output;
  int32_t zero;
  if (!set_output(requantize, &output) || !cortex_m_zero(in, in_zero, &zero)) return false;
  const auto narrow_depth = static_cast<int32_t>(depth);
  cortex_m::Int8Channel* const channels = cortex_m_channels(context, columns, parameters);
  auto* const scratch =
      channels ? context.allocate_temporary_array<uint8_t>(cortex_m::product_bytes(narrow_depth)) : nullptr;
  context.clear();
  if (scratch == nullptr) return false;
  cortex_m::multiply(rows, cortex_m_flip(in), zero, weights, channels, static_cast<int32_t>(count), narrow_depth,
                     static_cast<int32_t>(columns), output, results, scratch);
  return true;
}

}  // namespace

void quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  RL_KERNEL_REQUIRE(context, is_byte(in), InvalidType, "the input is %s, not int8 or uint8",
                    dtype_name(in.scalar_type()));
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
  const ByteReader read(in);
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const int64_t rows = out.numel() / columns;
  const OutputParameters parameters{static_cast<float>(in_scale), scales, weight_scales.numel() == 1 ? 0 : 1, offsets};
  if constexpr (cortex_m::kHasInt8) {
    if (multiply_on_cortex_m(context, inputs.data<uint8_t>(), in, in_zero, weights.data<int8_t>(), parameters,
                             requantize, rows, depth, columns, results.data<uint8_t>())) {
      return results.finish();
    }
  }
  const auto in_zero_point = static_cast<int32_t>(in_zero);
  context.parallel_for(0, rows * columns, 8192 / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const uint8_t* const x = inputs.data<uint8_t>() + at / columns * depth;
      const int64_t j = at % columns;
      const int8_t* const w = weights.data<int8_t>() + j * depth;
      int32_t sum = 0;
      for (int64_t l = 0; l < depth; ++l) sum += (read(x[l]) - in_zero_point) * w[l];
      const float real = static_cast<float>(sum) * parameters.factor(j);
      results.data<uint8_t>()[at] = requantize(offsets ? real + offsets[j] : real);
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
