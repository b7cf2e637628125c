// Products of a few rows with a large matrix, which is read once and not packed.
#pragma once

#include "kernels/optimized/tiles/impl/vec.h"
#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::tiles::RL_TILES_ISA {

// sums[i][j] = a[i] . b[j]. Each dot product adds up in two vectors, whatever Rows and Columns are.
template <int Rows, int Columns>
static void dot_tile(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, float* c, int64_t ldc) {
  Floats even[Rows][Columns], odd[Rows][Columns];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) even[i][j] = Floats{};
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) odd[i][j] = Floats{};
  int64_t l = 0;
  for (; l + 2 * kWidth <= k; l += 2 * kWidth) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = load(a + i * lda + l), y = load(a + i * lda + l + kWidth);
      RL_UNROLL for (int j = 0; j < Columns; ++j) {
        even[i][j] += x * load(b + j * ldb + l);
        odd[i][j] += y * load(b + j * ldb + l + kWidth);
      }
    }
  }
  for (; l < k; l += kWidth) {
    const int64_t n = k - l < kWidth ? k - l : kWidth;
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = load_few(a + i * lda + l, n);
      RL_UNROLL for (int j = 0; j < Columns; ++j) even[i][j] += x * load_few(b + j * ldb + l, n);
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Columns; ++j) c[i * ldc + j] += sum(even[i][j] + odd[i][j]);
  }
}

// Rows of b as short as this are read one after the other, and fetched so many floats ahead.
inline constexpr int64_t kShortRow = 256, kAhead = 1024;

RL_INLINE void fetch_row(const float* row, int64_t k) {
  for (int64_t l = 0; l < k; l += 16) __builtin_prefetch(row + l, 0, 3);
}

// As many sums as the register file holds beside what they are made from: Pair rows of a at a time.
template <int Pair, int Columns>
RL_INLINE void add_dots_at(int64_t rows, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                           int64_t ldc) {
  int64_t i = 0;
  for (; i + Pair <= rows; i += Pair) dot_tile<Pair, Columns>(a + i * lda, lda, b, ldb, k, c + i * ldc, ldc);
  if constexpr (Pair > 1) {
    for (; i < rows; ++i) dot_tile<1, Columns>(a + i * lda, lda, b, ldb, k, c + i * ldc, ldc);
  }
}

static void add_dots(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                     float* c, int64_t ldc) {
  int64_t j = 0;
  if (k > kShortRow) {
    for (; j + 4 <= columns; j += 4) {
      add_dots_at<kWidth >= 16 ? 2 : 1, 4>(rows, k, a, lda, b + j * ldb, ldb, c + j, ldc);
    }
  }
  for (const int64_t ahead = k > 0 ? kAhead / k * ldb : 0; j < columns; ++j) {
    fetch_row(b + j * ldb + ahead, k);
    add_dots_at<2, 1>(rows, k, a, lda, b + j * ldb, ldb, c + j, ldc);
  }
}

// c[j] += sum over Rows of x[i] * b[i, j].
template <int Rows>
static void add_rows(const float* x, const float* b, int64_t ldb, int64_t n, float* c) {
  Floats scale[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) scale[i] = splat(x[i]);
  int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth) {
    Floats value = load(c + j);
    RL_UNROLL for (int i = 0; i < Rows; ++i) value += scale[i] * load(b + i * ldb + j);
    store(c + j, value);
  }
  if (j < n) {
    Floats value = load_few(c + j, n - j);
    RL_UNROLL for (int i = 0; i < Rows; ++i) value += scale[i] * load_few(b + i * ldb + j, n - j);
    store_few(c + j, value, n - j);
  }
}

// The same of all k rows, whose n = Vectors * kWidth columns are held in registers.
template <int Vectors>
static void add_all_rows(int64_t k, const float* x, const float* b, int64_t ldb, float* c) {
  constexpr int64_t kColumns = Vectors * kWidth;
  Floats value[Vectors];
  RL_UNROLL for (int j = 0; j < Vectors; ++j) value[j] = load(c + j * kWidth);
  for (int64_t l = 0; l < k; ++l, b += ldb) {
    fetch_row(b + kAhead / kColumns * ldb, kColumns);
    const Floats scale = splat(x[l]);
    RL_UNROLL for (int j = 0; j < Vectors; ++j) value[j] += scale * load(b + j * kWidth);
  }
  RL_UNROLL for (int j = 0; j < Vectors; ++j) store(c + j * kWidth, value[j]);
}

static void add_scaled_rows(int64_t k, const float* x, const float* b, int64_t ldb, int64_t n, float* c) {
  if (n == 8 * kWidth) return add_all_rows<8>(k, x, b, ldb, c);
  if (n == 4 * kWidth) return add_all_rows<4>(k, x, b, ldb, c);
  int64_t l = 0;
  for (; l + 8 <= k; l += 8) add_rows<8>(x + l, b + l * ldb, ldb, n, c);
  for (; l < k; ++l) add_rows<1>(x + l, b + l * ldb, ldb, n, c);
}

}  // namespace rushlight::tiles::RL_TILES_ISA
