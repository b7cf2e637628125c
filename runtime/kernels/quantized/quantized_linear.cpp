#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

namespace {

// Computes with the loops for Cortex-M. Returns false if they do not support the arguments.
[[maybe_unused]] bool multiply_on_cortex_m(KernelRuntimeContext& context, const uint8_t* rows, const Tensor& in,
                                           int64_t in_zero, const GroupedWeight& w, const OutputParameters& parameters,
                                           const Requantizer& requantize, int64_t count, uint8_t* results) {
  cortex_m::Int8Output output;
  int32_t zero;
  if (!set_output(requantize, &output) || !cortex_m_zero(in, in_zero, &zero)) return false;
  const auto depth = static_cast<int32_t>(w.columns);
  cortex_m::Int8Channel* const channels = cortex_m_channels(context, w.rows, parameters);
  auto* const scratch = channels ? context.allocate_temporary_array<uint8_t>(cortex_m::product_bytes(depth)) : nullptr;
  context.clear();
  if (scratch == nullptr) return false;
  cortex_m::multiply(rows, cortex_m_flip(in), zero, reinterpret_cast<const int8_t*>(w.data), channels,
                     static_cast<int32_t>(count), depth, static_cast<int32_t>(w.rows), output, results, scratch);
  return true;
}

}  // namespace

void quantized_linear_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                          const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                          double scale, int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  GroupedWeight w;
  RL_KERNEL_REQUIRE(context, is_byte(in), InvalidType, "the input is %s, not int8 or uint8",
                    dtype_name(in.scalar_type()));
  if (!require_output(context, out, quant_min, quant_max) ||
      !read_weight(context, weight, 8, weight_scales, std::nullopt, &w) ||
      !resize_linear(context, in, w.columns, w.rows, bias, out)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, w.group >= w.columns && !w.is_unsigned, InvalidArgument,
                    "the weight must be int8 with one scale per row");
  const RowMajorInput inputs(context, in);
  RowMajorOutput results(context, out);
  const double* const offsets = bias ? elements_as_double(context, *bias) : nullptr;
  if (context.failed() || out.numel() == 0) return;
  const ByteReader read(in);
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const int64_t columns = w.rows, depth = w.columns, rows = out.numel() / columns;
  const OutputParameters parameters{static_cast<float>(in_scale), w.scales, w.scale_step, offsets};
  if constexpr (cortex_m::kHasInt8) {
    if (multiply_on_cortex_m(context, inputs.data<uint8_t>(), in, in_zero, w, parameters, requantize, rows,
                             results.data<uint8_t>())) {
      return results.finish();
    }
  }
  const auto in_zero_point = static_cast<int32_t>(in_zero);
  context.parallel_for(0, rows * columns, 8192 / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const uint8_t* const x = inputs.data<uint8_t>() + at / columns * depth;
      const int64_t j = at % columns;
      int32_t sum = 0;
      for (int64_t l = 0; l < depth; ++l) sum += (read(x[l]) - in_zero_point) * w.number(j, l);
      const float real = static_cast<float>(sum) * parameters.factor(j);
      results.data<uint8_t>()[at] = requantize(offsets ? real + static_cast<float>(offsets[j]) : real);
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
