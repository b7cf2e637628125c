#include "kernels/optimized/grouped_rows.h"

#include <algorithm>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/shared/axes.h"
#include "microkernels/gemm/f32.h"
#include "microkernels/tables/int8.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

// Up to this many input rows, the weight's rows are multiplied without packing.
constexpr int64_t kDotRows = 8;

}  // namespace

void GroupedRows::read(int64_t row, float* to) const {
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  const uint8_t* const from = data + row * row_stride;
  for (int64_t column = 0; column < columns; column += group) {
    const int64_t part = row * scale_step + column / group;
    float zero = 0;
    if (zeros) load_zero(static_cast<const uint8_t*>(zeros) + part * zero_size, 1, &zero, 1, 1);
    if (bits == 4) {
      kernels.dequantize_int4(from + column / 2, group, zero, scales[part], to + column);
    } else {
      kernels.dequantize_int8(from + column, sign_mask, group, sign_mask ? zero - 128.0f : zero, scales[part],
                              to + column);
    }
  }
}

bool read_rows(const Tensor& weight, int bits, const Tensor& scales, const std::optional<Tensor>& zero_points,
               GroupedRows* result) {
  GroupedRows& w = *result;
  if (weight.dim() != 2 || !is_row_major_bytes(weight) || (bits < 8 && weight.scalar_type() != ScalarType::Byte) ||
      !is_row_major_float(scales) || scales.dim() > 2) {
    return false;
  }
  w.data = weight.const_data_ptr<uint8_t>();
  w.row_stride = weight.size(1);
  w.bits = bits;
  w.sign_mask = bits == 8 ? sign_mask_of(weight) : uint8_t{0};
  w.rows = weight.size(0), w.columns = weight.size(1) * (8 / bits);
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  const bool shared = scales.dim() < 2 && scales.numel() == 1;
  if (w.columns == 0 || groups == 0 || w.columns % groups != 0 || (!shared && scales.numel() != w.rows * groups)) {
    return false;
  }
  w.group = w.columns / groups;
  if (bits == 4 && w.group % 2 != 0) return false;
  w.scale_step = shared && w.rows != 1 ? 0 : groups;
  w.scales = scales.const_data_ptr<float>();
  w.zeros = nullptr;
  if (zero_points) {
    w.load_zero = load_function(zero_points->scalar_type(), ScalarType::Float);
    if (!is_row_major(*zero_points) || zero_points->numel() != scales.numel() || w.load_zero == nullptr) return false;
    w.zeros = zero_points->const_data_ptr();
    w.zero_size = static_cast<int64_t>(zero_points->element_size());
  }
  return true;
}

void grouped_linear(KernelRuntimeContext& context, const Tensor& in, const GroupedRows& w,
                    const std::optional<Tensor>& bias, const Tensor& out) {
  const int64_t depth = w.columns, columns = w.rows, rows = out.numel() / columns;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t step = microkernels::column_step(kernels);
  const bool is_wide = in.scalar_type() == ScalarType::Float;
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  if (!is_wide) {
    float* const wide = context.allocate_temporary_array<float>(static_cast<size_t>(rows * depth));
    y = context.allocate_temporary_array<float>(static_cast<size_t>(rows * columns));
    if (context.failed()) return;
    load_function(in.scalar_type(), ScalarType::Float)(in.const_data_ptr(), 1, wide, 1, rows * depth);
    x = wide;
  }
  const float* const offsets = bias ? floats_of(context, *bias, columns) : nullptr;
  const int64_t workers = microkernels::worker_count(context);
  const int64_t product = rows > kDotRows ? microkernels::gemm_scratch(kernels, depth, step) : 0;
  const int64_t size = (step * depth + 15) / 16 * 16 + (product + 15) / 16 * 16;
  float* const scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  if (context.failed()) return;
  microkernels::for_workers(
      context, workers, (columns + step - 1) / step, [&](int64_t worker, int64_t begin, int64_t end) {
        float* const dequantized = scratch + worker * size;
        for (int64_t j = begin * step; j < std::min(end * step, columns); j += step) {
          const int64_t n = std::min(step, columns - j);
          for (int64_t l = 0; l < n; ++l) w.read(j + l, dequantized + l * depth);
          float* const to = y + j;
          if (rows > kDotRows) {
            microkernels::F32Gemm p{};
            p.m = rows, p.n = n, p.k = depth;
            p.a = x, p.lda = depth;
            p.rhs = microkernels::F32Gemm::Rhs::Transposed;
            p.b = dequantized, p.ldb = depth;
            p.bias_of = offsets ? microkernels::BiasOf::Columns : microkernels::BiasOf::None;
            p.bias = offsets ? offsets + j : nullptr;
            p.c = to, p.ldc = columns;
            microkernels::multiply(kernels, p, 0, rows, 0, n, dequantized + (step * depth + 15) / 16 * 16);
            continue;
          }
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t l = 0; l < n; ++l) to[i * columns + l] = offsets ? offsets[j + l] : 0.0f;
          }
          kernels.add_dots(rows, n, depth, x, depth, dequantized, depth, to, columns);
        }
      });
  if (!is_wide) store_function(ScalarType::Float, out.scalar_type())(y, 1, out.mutable_data_ptr(), 1, out.numel());
}

}  // namespace rushlight::optimized
