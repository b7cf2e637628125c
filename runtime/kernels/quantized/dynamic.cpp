#include "kernels/quantized/dynamic.h"

#include <algorithm>
#include <cmath>

#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/choose.h"
#include "kernels/quantized/grouped_weight.h"
#include "kernels/quantized/linear_arguments.h"
#include "kernels/shared/row_major.h"

namespace rushlight::quantized {

namespace {

void quantize_row(const float* x, int64_t n, float scale, int32_t zero, const DynamicRange& range, int8_t* to) {
  const float inverse = 1.0f / scale, zero_point = static_cast<float>(zero);
  const float quant_min = static_cast<float>(range.quant_min), quant_max = static_cast<float>(range.quant_max);
  for (int64_t i = 0; i < n; ++i) {
    const float q = std::nearbyint(x[i] * inverse) + zero_point;
    to[i] = static_cast<int8_t>(std::min(std::max(q, quant_min), quant_max));
  }
}

}  // namespace

bool quantize_rows(KernelRuntimeContext& context, const Tensor& in, const DynamicRange& range, DynamicRows* result) {
  DynamicRows& r = *result;
  r.depth = in.size(in.dim() - 1);
  r.rows = r.depth > 0 ? in.numel() / r.depth : 0;
  r.numbers = context.allocate_temporary_array<int8_t>(static_cast<size_t>(in.numel() + 64));
  r.scales = context.allocate_temporary_array<float>(static_cast<size_t>(r.rows + 1));
  r.zeros = context.allocate_temporary_array<int32_t>(static_cast<size_t>(r.rows + 1));
  const RowMajorInput rows(context, in);
  if (context.failed()) return false;
  const float* const x = rows.data<float>();
  Affine tensor_parameters{1, 0};
  if (!range.per_token) {
    Extremes extremes;
    if (!extremes_of(context, in, &extremes)) return false;
    tensor_parameters = range.choose(extremes);
  }
  for (int64_t i = 0; i < r.rows; ++i) {
    Affine chosen = tensor_parameters;
    if (range.per_token) {
      float minimum = 0, maximum = 0;
      bool nan = false;
      for (int64_t l = 0; l < r.depth; ++l) {
        const float value = x[i * r.depth + l];
        minimum = value < minimum ? value : minimum;
        maximum = value > maximum ? value : maximum;
        nan |= value != value;
      }
      chosen = range.choose(nan ? Extremes{NAN, NAN} : Extremes{minimum, maximum});
    }
    r.scales[i] = scale_of_sums(chosen);
    r.zeros[i] = static_cast<int32_t>(chosen.zero);
  }
  context.parallel_for(0, r.rows, 8192 / (r.depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      quantize_row(x + i * r.depth, r.depth, r.scales[i], r.zeros[i], range, r.numbers + i * r.depth);
    }
  });
  return true;
}

void dynamic_linear(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, int bits,
                    const Tensor& weight_scales, const std::optional<Tensor>& bias, const DynamicRange& range,
                    const Tensor& out) {
  GroupedWeight w;
  if (!require_dtype(context, "the input", in, ScalarType::Float) ||
      !require_dtype(context, "out", out, ScalarType::Float) ||
      !require_range(context, range.quant_min, range.quant_max, ScalarType::Char) ||
      !read_weight(context, weight, bits, weight_scales, std::nullopt, &w) ||
      !resize_linear(context, in, w.columns, w.rows, bias, out)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, bits < 8 || !w.is_unsigned, InvalidType, "the weight is uint8, not int8");
  if (out.numel() == 0) return;
  DynamicRows rows;
  RowMajorOutput results(context, out);
  const double* const offsets = bias ? elements_as_double(context, *bias) : nullptr;
  if (context.failed() || !quantize_rows(context, in, range, &rows)) return;
  const int64_t columns = w.rows, depth = w.columns;
  context.parallel_for(0, rows.rows * columns, 8192 / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t i = at / columns, j = at % columns;
      const int8_t* const x = rows.numbers + i * depth;
      double sum = 0;
      for (int64_t first = 0; first < depth; first += w.group) {
        int32_t part = 0;
        for (int64_t l = first; l < first + w.group; ++l) part += (x[l] - rows.zeros[i]) * w.number(j, l);
        sum += static_cast<double>(part) * w.scales[w.part(j, first)];
      }
      float real = static_cast<float>(sum * static_cast<double>(rows.scales[i]));
      if (offsets) real += static_cast<float>(offsets[j]);
      results.data<float>()[at] = real;
    }
  });
  results.finish();
}

}  // namespace rushlight::quantized
