#include <algorithm>
#include <cmath>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/optimized/reduction.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

namespace {

using microkernels::BinaryOp;
using microkernels::UnaryOp;

constexpr int64_t kChunk = 1024;
// Columns of one task.
constexpr int64_t kColumns = 256;
// With more rows, a sum needs more precision than float has.
constexpr int64_t kMaxRows = 4096;

// Returns the number that is subtracted before exp(). It is 0 instead of an infinity, because the difference of two
// infinities is NaN.
float shift_of(float largest) { return std::isfinite(largest) ? largest : 0.0f; }

float logsumexp_of_row(const microkernels::F32Microkernels& kernels, const float* x, int64_t n) {
  float exponentials[kChunk];
  const float shift = shift_of(kernels.extreme(true, x, n));
  double sum = 0;
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    kernels.binary(BinaryOp::Sub, x + i, 1, &shift, 0, exponentials, count, 0);
    kernels.unary(UnaryOp::Exp, exponentials, exponentials, count, 0, 0);
    sum += kernels.sum(exponentials, count);
  }
  return static_cast<float>(static_cast<double>(shift) + std::log(sum));
}

// Computes the results of `columns` columns with n rows, `stride` apart.
void logsumexp_of_columns(const microkernels::F32Microkernels& kernels, const float* x, int64_t n, int64_t stride,
                          int64_t columns, float* out) {
  float exponentials[kChunk], shifts[kColumns];
  std::copy_n(x, columns, shifts);
  kernels.reduce_rows(BinaryOp::Maximum, x + stride, stride, n - 1, shifts, columns);
  std::transform(shifts, shifts + columns, shifts, shift_of);
  std::fill_n(out, columns, 0.0f);
  constexpr int64_t kRows = kChunk / kColumns;
  for (int64_t row = 0; row < n; row += kRows) {
    const int64_t rows = std::min(kRows, n - row);
    for (int64_t r = 0; r < rows; ++r) {
      kernels.binary(BinaryOp::Sub, x + (row + r) * stride, 1, shifts, 1, exponentials + r * columns, columns, 0);
    }
    kernels.unary(UnaryOp::Exp, exponentials, exponentials, rows * columns, 0, 0);
    kernels.reduce_rows(BinaryOp::Add, exponentials, columns, rows, out, columns);
  }
  kernels.unary(UnaryOp::Log, out, out, columns, 0, 0);
  kernels.binary(BinaryOp::Add, out, 1, shifts, 1, out, columns, 0);
}

}  // namespace

bool logsumexp_out(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> dims, bool keepdim,
                   Tensor& out) {
  DimMask mask;
  if (!dim_mask(context, in, dims, &mask)) return true;
  ReductionShape f;
  if (!float_reduction_shape(in, mask, &f) || out.scalar_type() != ScalarType::Float) return false;
  if (f.inner > 1 && f.reduced > kMaxRows) return false;
  if (!resize_out(context, out, reduced_shape(in, mask, keepdim).span())) return true;
  if (!is_row_major(out)) return false;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  const int64_t chunks = f.inner == 1 ? 1 : (f.inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kReductionGrain / 8 / (f.reduced * std::min(kColumns, f.inner)));
  context.parallel_for(0, f.outer * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / chunks, column = i % chunks * kColumns;
      if (f.inner == 1) {
        y[i] = logsumexp_of_row(kernels, x + i * f.reduced, f.reduced);
      } else {
        logsumexp_of_columns(kernels, x + outer * f.reduced * f.inner + column, f.reduced, f.inner,
                             std::min(kColumns, f.inner - column), y + outer * f.inner + column);
      }
    }
  });
  return true;
}

}  // namespace rushlight::optimized
