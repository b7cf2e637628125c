// GEMMs with few columns, as dot products: the lanes of a vector are adjacent terms of a sum, not adjacent columns.
#pragma once

#include "microkernels/gemm/impl/f32_panel.h"
#include "microkernels/gemm/impl/f32_vector.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

// The maximum number of columns. With more columns, panels are faster, whose lanes are columns.
#if RL_WIDTH >= 16
inline constexpr int kDotColumns = 12;
// The rows of a tile. The sums and the operands fit into the registers, and the sums nearly fill whole vectors when
// their lanes are added up.
constexpr int dot_rows(int columns) {
  return columns == 1 ? 8 : columns == 3 ? 5 : columns <= 6 ? 4 : columns <= 8 ? 3 : 2;
}
#else
inline constexpr int kDotColumns = 6;
constexpr int dot_rows(int columns) { return columns == 1 ? 8 : 2; }
#endif

inline constexpr int64_t kMaxDots = 32;  // vectors of a tile, rounded up

// Returns the sums of the lanes of `Count` vectors, in this order. Count = 2 * Half.
template <int Half = kWidth / 2>
RL_INLINE Floats sums_of_lanes(const Floats* v) {
  constexpr auto kLanes = std::make_integer_sequence<int, kWidth>{};
  Floats next[Half];
  RL_UNROLL for (int j = 0; j < Half; ++j) next[j] = fold<Half>(v[2 * j], v[2 * j + 1], kLanes);
  if constexpr (Half > 1) {
    return sums_of_lanes<Half / 2>(next);
  } else {
    return next[0];
  }
}

// Computes vectors whose lanes add up to the sums of rows [first, first + Rows). Rows after `last` are computed as
// `last`.
template <int Rows, int Columns>
RL_INLINE void dot_tile_of(const DotTile& t, int64_t first, int64_t last, float* sums) {
  Floats acc[Rows][Columns];
  zero_sums<Rows, Columns>(acc);
  const float* b = t.b;
  const float* const* rows = t.rows;
  for (int64_t tap = 0; tap < t.taps; ++tap, rows += t.row_step, b += t.k) {
    const float* a[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) a[i] = rows[first + i < last ? first + i : last] + t.first;
    for (int64_t l = 0; l < t.k; l += kWidth) {
      Floats x[Rows];
      RL_UNROLL for (int i = 0; i < Rows; ++i) x[i] = load(a[i] + l);
      RL_UNROLL for (int j = 0; j < Columns; ++j) {
        const Floats y = load(b + j * t.b_step + l);
        RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = add_product(acc[i][j], x[i], y);
      }
    }
  }
  store_totals<Rows, Columns>(acc, sums);
}

// Adds up the lanes of `columns` vectors for each of `rows` rows, applies the epilogue except `op`, and stores the
// results. `vectors` is the number of vectors that may be read; it is a multiple of a vector.
RL_ONCE_STATIC void store_dots(const DotTile& t, int64_t first, int64_t rows, int64_t columns, int64_t vectors,
                               const float* lanes) {
  float sums[kMaxDots + kWidth];
  for (int64_t i = 0; i < vectors; i += kWidth) {
    Floats v[kWidth];
    RL_UNROLL for (int j = 0; j < kWidth; ++j) v[j] = load(lanes + (i + j) * kWidth);
    store(sums + i, sums_of_lanes(v));
  }
  const Floats bias = t.bias ? load(t.bias) : Floats{};
  const float* residual = t.epilogue.residual;
  if (residual) residual += first * t.epilogue.residual_step;
  for (int64_t i = 0; i < rows; ++i) {
    store_few(t.c + (first + i) * t.c_step, finish(load(sums + i * columns) + bias, t.epilogue, residual, t.columns),
              t.columns);
    if (residual) residual += t.epilogue.residual_step;
  }
}

template <int Columns>
static void dot_columns(int64_t rows, const DotTile& t) {
  constexpr int kRows = dot_rows(Columns);
  constexpr int64_t kVectors = (kRows * Columns + kWidth - 1) / kWidth * kWidth;
  static_assert(kVectors <= kMaxDots);
  alignas(64) float lanes[kVectors * kWidth] = {};
  for (int64_t m = 0; m < rows; m += kRows) {
    dot_tile_of<kRows, Columns>(t, m, rows - 1, lanes);
    store_dots(t, m, rows - m < kRows ? rows - m : kRows, Columns, kVectors, lanes);
  }
}

static void dots(int64_t rows, const DotTile& tile) {
  using Function = void (*)(int64_t, const DotTile&);
#if RL_WIDTH >= 16
  static constexpr Function by_columns[] = {&dot_columns<1>,  &dot_columns<3>,  &dot_columns<3>,  &dot_columns<4>,
                                            &dot_columns<6>,  &dot_columns<6>,  &dot_columns<8>,  &dot_columns<8>,
                                            &dot_columns<10>, &dot_columns<10>, &dot_columns<12>, &dot_columns<12>};
#else
  static constexpr Function by_columns[] = {&dot_columns<1>, &dot_columns<3>, &dot_columns<3>,
                                            &dot_columns<4>, &dot_columns<6>, &dot_columns<6>};
#endif
  static_assert(sizeof(by_columns) == kDotColumns * sizeof(Function));
  by_columns[tile.columns - 1](rows, tile);
  if (tile.epilogue.applies) apply(tile.epilogue, tile.c, tile.c_step, rows, tile.columns);
}

}  // namespace rushlight::microkernels::RL_ISA
