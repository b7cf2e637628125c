#include "microkernels/reduce/f32.h"

#include <algorithm>

#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kColumns = 512;
// One row is copied, and reduce_rows() adds the others in groups of eight.
constexpr int64_t kRows = kTermsOfSum + 1;

void sum_few_rows(const F32Microkernels& kernels, const float* x, int64_t stride, int64_t rows, float* y, int64_t n) {
  std::copy_n(x, n, y);
  kernels.reduce_rows(BinaryOp::Add, x + stride, stride, rows - 1, y, n);
}

}  // namespace

void sum_rows(const F32Microkernels& kernels, const float* x, int64_t stride, int64_t rows, float* y, int64_t n) {
  if (rows == 0) std::fill_n(y, n, 0.0f);
  if (rows > 0 && rows <= kRows) sum_few_rows(kernels, x, stride, rows, y, n);
  if (rows <= kRows) return;
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min(kColumns, n - j);
    double totals[kColumns] = {};
    float partial[kColumns];
    for (int64_t i = 0; i < rows; i += kRows) {
      sum_few_rows(kernels, x + i * stride + j, stride, std::min(kRows, rows - i), partial, columns);
      for (int64_t c = 0; c < columns; ++c) totals[c] += static_cast<double>(partial[c]);
    }
    for (int64_t c = 0; c < columns; ++c) y[j + c] = static_cast<float>(totals[c]);
  }
}

}  // namespace rushlight::microkernels
