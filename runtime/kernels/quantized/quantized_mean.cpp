#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/reduce.h"

namespace rushlight::quantized {

namespace {

// Returns the sum of the int8 or uint8 numbers that the loops visit from `from` on.
int64_t sum_of_elements(const Tensor& in, const uint8_t* from, const LoopNest& elements) {
  const ByteReader read(in);
  const int64_t stride = elements.inner_stride(0);
  int64_t sum = 0;
  for_each_row(elements, 0, elements.numel(), [&](const int64_t* offsets, int64_t length) {
    const uint8_t* const row = from + offsets[0];
    if constexpr (cortex_m::kHasInt8) {
      if (length < 1 << 16) {
        sum += cortex_m::sum(row, static_cast<int32_t>(stride), static_cast<int32_t>(length), cortex_m_sign_mask(in)) +
               read.offset * length;
        return;
      }
    }
    for (int64_t k = 0; k < length; ++k) sum += read(row[k * stride]);
  });
  return sum;
}

}  // namespace

void quantized_mean_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                        Span<const int64_t> dims, bool keepdim, double scale, int64_t zero, int64_t quant_min,
                        int64_t quant_max, Tensor& out) {
  DimMask mask;
  if (!require_input(context, in, in_zero) || !require_output(context, out, quant_min, quant_max) ||
      !dim_mask(context, in, dims, &mask) || !resize_out(context, out, reduced_shape(in, mask, keepdim).span())) {
    return;
  }
  // Loops over the results, and loops over the elements of one result.
  LoopNest results, elements;
  int64_t axis = 0;  // of the result
  for (int64_t d = 0; d < in.dim(); ++d) {
    const bool is_reduced = mask >> d & 1;
    if (is_reduced) {
      elements.push(in.size(d), {in.stride(d)});
    } else {
      results.push(in.size(d), {out.stride(axis), in.stride(d)});
    }
    if (!is_reduced || keepdim) ++axis;
  }
  results.operands = 2, elements.operands = 1;
  elements.sort_by(0);
  elements.collapse();
  const int64_t count = elements.numel();
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const float factor = static_cast<float>(in_scale);
  context.parallel_for(0, results.numel(), 16384 / (count + 1) + 1, [&](int64_t begin, int64_t end) {
    for_each_row(results, begin, end, [&](const int64_t* offsets, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const uint8_t* from = in.const_data_ptr<uint8_t>() + offsets[1] + i * results.inner_stride(1);
        const int64_t sum = sum_of_elements(in, from, elements);
        const float real = static_cast<float>(sum - in_zero * count) * factor / static_cast<float>(count);
        out.mutable_data_ptr<uint8_t>()[offsets[0] + i * results.inner_stride(0)] = requantize(real);
      }
    });
  });
}

}  // namespace rushlight::quantized
