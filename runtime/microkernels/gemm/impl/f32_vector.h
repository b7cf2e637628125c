// GEMMs of a few rows and a large matrix that is not packed. The matrix is read only once.
#pragma once

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

// Computes vectors sums[i][j] whose lanes add up to the dot product of a[i] and b[j]. Each has two partial sums, for
// all values of Rows and Columns.
template <int Rows, int Columns>
RL_INLINE void dot_lanes(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, Floats (*sums)[Columns]) {
  Floats odd[Rows][Columns];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) sums[i][j] = Floats{};
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) odd[i][j] = Floats{};
  int64_t l = 0;
  for (; l + 2 * kWidth <= k; l += 2 * kWidth) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = load(a + i * lda + l), y = load(a + i * lda + l + kWidth);
      RL_UNROLL for (int j = 0; j < Columns; ++j) {
        sums[i][j] += x * load(b + j * ldb + l);
        odd[i][j] += y * load(b + j * ldb + l + kWidth);
      }
    }
  }
  for (; l < k; l += kWidth) {
    const int64_t n = k - l < kWidth ? k - l : kWidth;
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = load_few(a + i * lda + l, n);
      RL_UNROLL for (int j = 0; j < Columns; ++j) sums[i][j] += x * load_few(b + j * ldb + l, n);
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) sums[i][j] += odd[i][j];
}

// Adds the two halves of each group of 2 * Half lanes, first of a and then of b.
template <int Half, int... I>
RL_INLINE Floats fold(Floats a, Floats b, std::integer_sequence<int, I...>) {
  constexpr auto lane = [](int i) {
    const int at = i % (kWidth / 2);
    return i / (kWidth / 2) * kWidth + at / Half * 2 * Half + at % Half;
  };
  return __builtin_shufflevector(a, b, lane(I)...) + __builtin_shufflevector(a, b, (lane(I) + Half)...);
}

// to[j] += sum(v[j]) for j < 4.
RL_INLINE void add_sums(const Floats* v, float* to) {
  constexpr auto kLanes = std::make_integer_sequence<int, kWidth>{};
  constexpr int kQuarter = kWidth / 4;
  Floats total = fold<kQuarter>(fold<2 * kQuarter>(v[0], v[1], kLanes), fold<2 * kQuarter>(v[2], v[3], kLanes), kLanes);
  if constexpr (kQuarter > 1) total = across<kQuarter / 2>(total, [](Floats x, Floats y) { return x + y; });
  RL_UNROLL for (int j = 0; j < 4; ++j) to[j] += total[j * kQuarter];
}

// Rows of b with at most kShortRow floats are read one after the other, and prefetched kAhead floats ahead.
inline constexpr int64_t kShortRow = 256, kAhead = 1024;

RL_INLINE void fetch_row(const float* row, int64_t k) {
  for (int64_t l = 0; l < k; l += 16) __builtin_prefetch(row + l, 0, 3);
}

// c[i][j] += dot product of a[i] and b[j].
template <int Rows, int Columns>
RL_INLINE void dot_tile(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, float* c, int64_t ldc) {
  Floats sums[Rows][Columns];
  if (k > kShortRow || Columns == 1) {
    dot_lanes<Rows, Columns>(a, lda, b, ldb, k, sums);
  } else {
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      Floats column[Rows][1];
      fetch_row(b + j * ldb + kAhead / k * ldb, k);
      dot_lanes<Rows, 1>(a, lda, b + j * ldb, ldb, k, column);
      RL_UNROLL for (int i = 0; i < Rows; ++i) sums[i][j] = column[i][0];
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    if constexpr (Columns == 4) {
      add_sums(sums[i], c + i * ldc);
    } else {
      RL_UNROLL for (int j = 0; j < Columns; ++j) c[i * ldc + j] += sum(sums[i][j]);
    }
  }
}

static void add_dots(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                     float* c, int64_t ldc) {
  if (k == 0) return;
  // The sums and the operands fill the registers.
  constexpr int kPair = kWidth >= 16 ? 4 : 2;
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    int64_t i = 0;
    if constexpr (kPair == 4) {
      for (; i + 2 <= rows; i += 2) dot_tile<2, 4>(a + i * lda, lda, b + j * ldb, ldb, k, c + i * ldc + j, ldc);
    }
    for (; i < rows; ++i) dot_tile<1, 4>(a + i * lda, lda, b + j * ldb, ldb, k, c + i * ldc + j, ldc);
  }
  for (; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) dot_tile<1, 1>(a + i * lda, lda, b + j * ldb, ldb, k, c + i * ldc + j, ldc);
  }
}

// c[j] += sum over i < Rows of x[i] * b[i, j].
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

// As above, for all k rows. The n = Vectors * kWidth sums stay in registers.
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

// As add_scaled_rows(), without partial sums.
static void add_few_scaled_rows(int64_t k, const float* x, const float* b, int64_t ldb, int64_t n, float* c) {
  if (n == 4 * kWidth) return add_all_rows<4>(k, x, b, ldb, c);
  if (n == 8 * kWidth) return add_all_rows<8>(k, x, b, ldb, c);
  if (n == 16 * kWidth) {
    // A few rows are processed at a time, so that both halves of a row are read soon after each other.
    for (int64_t l = 0; l < k; l += 16) {
      const int64_t rows = k - l < 16 ? k - l : 16;
      add_all_rows<8>(rows, x + l, b + l * ldb, ldb, c);
      add_all_rows<8>(rows, x + l, b + l * ldb + 8 * kWidth, ldb, c + 8 * kWidth);
    }
    return;
  }
  int64_t l = 0;
  for (; l + 8 <= k; l += 8) add_rows<8>(x + l, b + l * ldb, ldb, n, c);
  for (; l < k; ++l) add_rows<1>(x + l, b + l * ldb, ldb, n, c);
}

static void add_scaled_rows(int64_t k, const float* x, const float* b, int64_t ldb, int64_t n, float* c) {
  if (k <= kTermsOfSum) return add_few_scaled_rows(k, x, b, ldb, n, c);
  constexpr int64_t kColumns = 512;
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = n - j < kColumns ? n - j : kColumns;
    for (int64_t l = 0; l < k; l += kTermsOfSum) {
      float sums[kColumns] = {};
      add_few_scaled_rows(k - l < kTermsOfSum ? k - l : kTermsOfSum, x + l, b + l * ldb + j, ldb, columns, sums);
      const float one = 1;
      add_rows<1>(&one, sums, 0, columns, c + j);
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
