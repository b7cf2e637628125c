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
  return columns <= 2 ? 8 : columns == 3 ? 5 : columns <= 6 ? 4 : columns <= 8 ? 3 : 2;
}
#else
inline constexpr int kDotColumns = 6;
constexpr int dot_rows(int columns) { return columns == 1 ? 8 : columns == 2 ? 4 : 2; }
#endif

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

// Computes rows [first, first + Rows) without bias and epilogue. Rows after `last` are computed as `last`.
template <int Rows, int Columns>
RL_INLINE void dot_tile_of(const DotTile& t, int64_t first, int64_t last, float* sums) {
  constexpr int kSums = Rows * Columns, kVectors = (kSums + kWidth - 1) / kWidth * kWidth;
  Floats acc[kVectors];
  RL_UNROLL for (int i = 0; i < kVectors; ++i) acc[i] = Floats{};
  const float* b = t.b;
  const float* const* rows = t.rows;
  for (int64_t tap = 0; tap < t.taps; ++tap, rows += t.row_step, b += t.k) {
    const float* a[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) a[i] = rows[first + i < last ? first + i : last] + t.first;
    const auto add_terms = [&](const auto& read, int64_t l) {
      Floats x[Rows];
      RL_UNROLL for (int i = 0; i < Rows; ++i) x[i] = read(a[i] + l);
      RL_UNROLL for (int j = 0; j < Columns; ++j) {
        const Floats y = read(b + j * t.b_step + l);
        RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i * Columns + j] = add_product(acc[i * Columns + j], x[i], y);
      }
    };
    int64_t l = 0;
    for (; l + kWidth <= t.k; l += kWidth) add_terms([](const float* p) { return load(p); }, l);
    if (const int64_t left = t.k - l; left > 0) add_terms([=](const float* p) { return load_few(p, left); }, l);
  }
  RL_UNROLL for (int i = 0; i < kVectors; i += kWidth) store(sums + i, sums_of_lanes(acc + i));
}

template <int Columns>
static void dot_columns(int64_t rows, const DotTile& t) {
  constexpr int kRows = dot_rows(Columns);
  alignas(64) float sums[kRows * Columns + 2 * kWidth] = {};
  const Floats bias = t.bias ? load(t.bias) : Floats{};
  for (int64_t m = 0; m < rows; m += kRows) {
    dot_tile_of<kRows, Columns>(t, m, rows - 1, sums);
    const int64_t count = rows - m < kRows ? rows - m : kRows;
    for (int64_t i = 0; i < count; ++i) {
      const float* const residual =
          t.epilogue.residual ? t.epilogue.residual + (m + i) * t.epilogue.residual_step : nullptr;
      const Floats value = finish(load(sums + i * Columns) + bias, t.epilogue, residual, t.columns);
      store_few(t.c + (m + i) * t.c_step, value, t.columns);
    }
  }
  if (t.epilogue.applies) apply(t.epilogue, t.c, t.c_step, rows, t.columns);
}

static void dots(int64_t rows, const DotTile& tile) {
  switch (tile.columns) {
    case 1:
      return dot_columns<1>(rows, tile);
    case 2:
      return dot_columns<2>(rows, tile);
    case 3:
      return dot_columns<3>(rows, tile);
    case 4:
      return dot_columns<4>(rows, tile);
  }
  if (tile.columns <= 6) return dot_columns<6>(rows, tile);
  if constexpr (kDotColumns > 6) {
    if (tile.columns <= 8) return dot_columns<8>(rows, tile);
    return tile.columns <= 10 ? dot_columns<10>(rows, tile) : dot_columns<12>(rows, tile);
  }
}

}  // namespace rushlight::microkernels::RL_ISA
