#include "kernels/optimized/grouped_rows.h"

#include <algorithm>

#include "core/rounding.h"
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

// The product of a float32 matrix and a transposed quantized weight, plus a bias. It is computed in panels of columns,
// for which the rows of the weight are dequantized.
struct FloatLinear {
  const microkernels::F32Microkernels& kernels;
  const GroupedRows& weight;  // [columns, depth]
  const float* x;             // [rows, depth]
  const float* bias;          // [columns] or null
  float* y;                   // [rows, columns]
  int64_t rows;

  int64_t panel_columns() const { return microkernels::column_step(kernels); }
  // Returns the scratch memory for the dequantized weight of a panel, in floats.
  int64_t panel_floats() const { return round_up(panel_columns() * weight.columns, 16); }
  // Returns the scratch memory of the GEMM, in floats.
  int64_t gemm_floats() const {
    return rows > kDotRows ? round_up(microkernels::gemm_scratch(kernels, weight.columns, panel_columns()), 16) : 0;
  }

  // Computes columns [first, first + n). `scratch` has panel_floats() + gemm_floats() floats.
  void compute(int64_t first, int64_t n, float* scratch) const {
    const int64_t depth = weight.columns, columns = weight.rows;
    for (int64_t j = 0; j < n; ++j) weight.read(first + j, scratch + j * depth);
    float* const to = y + first;
    if (rows <= kDotRows) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < n; ++j) to[i * columns + j] = bias ? bias[first + j] : 0.0f;
      }
      return kernels.add_dots(rows, n, depth, x, depth, scratch, depth, to, columns);
    }
    microkernels::F32Gemm gemm{};
    gemm.m = rows, gemm.n = n, gemm.k = depth;
    gemm.a = x, gemm.lda = depth;
    gemm.rhs = microkernels::F32Gemm::Rhs::Transposed;
    gemm.b = scratch, gemm.ldb = depth;
    gemm.bias_of = bias ? microkernels::BiasOf::Columns : microkernels::BiasOf::None;
    gemm.bias = bias ? bias + first : nullptr;
    gemm.c = to, gemm.ldc = columns;
    microkernels::multiply(kernels, gemm, 0, rows, 0, n, scratch + panel_floats());
  }
};

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
  const bool is_shared = scales.dim() < 2 && scales.numel() == 1;  // one scale for all rows
  if (w.columns == 0 || groups == 0 || w.columns % groups != 0 || (!is_shared && scales.numel() != w.rows * groups)) {
    return false;
  }
  w.group = w.columns / groups;
  if (bits == 4 && w.group % 2 != 0) return false;
  w.scale_step = is_shared && w.rows != 1 ? 0 : groups;
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
  const bool is_float32 = in.scalar_type() == ScalarType::Float;
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  if (!is_float32) {
    float* const converted = context.allocate_temporary_array<float>(static_cast<size_t>(rows * depth));
    y = context.allocate_temporary_array<float>(static_cast<size_t>(rows * columns));
    if (context.failed()) return;
    load_function(in.scalar_type(), ScalarType::Float)(in.const_data_ptr(), 1, converted, 1, rows * depth);
    x = converted;
  }
  const float* const offsets = bias ? floats_of(context, *bias, columns) : nullptr;
  const FloatLinear linear{microkernels::f32_microkernels(), w, x, offsets, y, rows};
  const int64_t step = linear.panel_columns(), size = linear.panel_floats() + linear.gemm_floats();
  const int64_t workers = microkernels::worker_count(context);
  float* const scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * size));
  if (context.failed()) return;
  microkernels::for_workers(context, workers, (columns + step - 1) / step,
                            [&](int64_t worker, int64_t begin, int64_t end) {
                              for (int64_t j = begin * step; j < std::min(end * step, columns); j += step) {
                                linear.compute(j, std::min(step, columns - j), scratch + worker * size);
                              }
                            });
  if (!is_float32) store_function(ScalarType::Float, out.scalar_type())(y, 1, out.mutable_data_ptr(), 1, out.numel());
}

}  // namespace rushlight::optimized
