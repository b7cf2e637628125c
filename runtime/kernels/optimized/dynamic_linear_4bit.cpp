#include <algorithm>

#include "kernels/optimized/dynamic_rows.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/linear_arguments.h"
#include "microkernels/tables/int8.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kBlock = 32;    // numbers that a tile processes at once
constexpr int64_t kColumns = 16;  // columns of one task
constexpr int64_t kMaxRows = 48;  // input rows that are computed at once
constexpr int64_t kSerialInt4Work = 4 * microkernels::kSerialWork;

struct Problem {
  int64_t rows, columns, depth;
  const uint8_t* lhs;  // a row of ones, then the input rows
  microkernels::Int4Dots dots;
  const float* row_scales;
  const int32_t* row_zeros;
  const float* bias;  // may be null
  float* out;
};

void multiply_columns(const microkernels::Int8Microkernels& kernels, const Problem& p, int64_t n0, int64_t n1) {
  float sums[kMaxRows * kColumns], ones[kColumns];
  for (int64_t j = n0; j < n1; j += kColumns) {
    const int64_t columns = std::min(kColumns, n1 - j);
    microkernels::Int4Dots d = p.dots;
    d.rhs += j * d.rhs_stride;
    d.scales += j * d.scale_stride;
    // Row -1 is the row of ones. Its sums are computed together with those of the first input rows.
    for (int64_t row = -1; row < p.rows;) {
      const int64_t rows = std::min(kMaxRows, p.rows - row);
      d.lhs = p.lhs + (row + 1) * p.depth;
      d.sums = sums;
      d.sums_stride = kColumns;
      kernels.int4_dots(rows, columns, d);
      if (row < 0) std::copy_n(sums, columns, ones);
      for (int64_t i = row < 0 ? 1 : 0; i < rows; ++i) {
        const float zero = static_cast<float>(p.row_zeros[row + i] + kernels.int4_offset);
        kernels.int4_row({sums + i * kColumns, ones, zero, p.row_scales[row + i], p.bias ? p.bias + j : nullptr,
                          nullptr, p.out + (row + i) * p.columns + j},
                         columns);
      }
      row += rows;
    }
  }
}

}  // namespace

bool dynamic_linear_4bit_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                             const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token,
                             bool symmetric, int64_t quant_min, int64_t quant_max, double eps, Tensor& out) {
  if (!is_row_major_float(in) || !is_row_major_float(out) || !is_row_major_bytes(weight) ||
      weight.scalar_type() != ScalarType::Byte || weight.dim() != 2 || weight.size(1) == 0 ||
      !is_row_major_float(weight_scales) || weight_scales.dim() > 2) {
    return false;
  }
  const int64_t columns = weight.size(0), depth = weight.size(1) * 2;
  const int64_t groups = weight_scales.dim() == 2 ? weight_scales.size(1) : 1;
  const bool shared = weight_scales.dim() < 2 && weight_scales.numel() == 1;
  if (groups == 0 || depth % groups != 0 || depth / groups % kBlock != 0 ||
      (!shared && weight_scales.numel() != columns * groups)) {
    return false;
  }
  if (!quantized::require_range(context, quant_min, quant_max, ScalarType::Char) ||
      !quantized::resize_linear(context, in, depth, columns, bias, out) || out.numel() == 0) {
    return true;
  }
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  quantized::DynamicRows rows;
  Problem p{};
  p.bias = bias ? floats_of(context, *bias, columns) : nullptr;
  if (context.failed() ||
      !quantize_dynamic_rows(context, in, {per_token, symmetric, quant_min, quant_max, eps}, &rows)) {
    return true;
  }
  uint8_t* const lhs = context.allocate_temporary_array<uint8_t>(static_cast<size_t>((rows.rows + 1) * depth));
  if (lhs == nullptr) return true;
  std::fill_n(lhs, depth, uint8_t{1});
  context.parallel_for(0, rows.rows, kSerialInt4Work / depth + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      kernels.pack_int4_lhs(rows.numbers + i * depth, depth, lhs + (i + 1) * depth);
    }
  });
  p.rows = rows.rows, p.columns = columns, p.depth = depth;
  p.lhs = lhs;
  p.dots.lhs_stride = depth;
  p.dots.rhs = weight.const_data_ptr<uint8_t>(), p.dots.rhs_stride = depth / 2;
  p.dots.scales = weight_scales.const_data_ptr<float>(), p.dots.scale_stride = shared && columns != 1 ? 0 : groups;
  p.dots.groups = groups, p.dots.group = depth / groups;
  p.row_scales = rows.scales, p.row_zeros = rows.zeros;
  p.out = out.mutable_data_ptr<float>();
  const int64_t workers = p.rows * columns * depth < kSerialInt4Work ? 1 : microkernels::worker_count(context);
  microkernels::for_workers(context, workers, (columns + kColumns - 1) / kColumns,
                            [&](int64_t, int64_t begin, int64_t end) {
                              multiply_columns(kernels, p, begin * kColumns, std::min(end * kColumns, columns));
                            });
  return true;
}

}  // namespace rushlight::optimized
