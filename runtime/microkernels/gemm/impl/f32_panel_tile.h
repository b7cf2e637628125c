// The main loop of a float32 tile for a matrix that is packed ahead of time.
#pragma once

#include <type_traits>
#include <utility>

#include "microkernels/gemm/impl/f32_sums.h"
#include "microkernels/gemm/impl/f32_tile_shape.h"
#include "microkernels/simd/f16_types.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

// kTerms: the number of terms that one iteration of the innermost loop adds to all sums.
// kMiddleRows: the rows of the tile for 4 to 6 rows, where there are few tiles.
// In WebAssembly, larger numbers save no time and lengthen the download.
#if defined(__wasm_simd128__)
inline constexpr int kTerms = 1, kMiddleRows = 2;
#else
inline constexpr int kTerms = kTileRows * kTileVectors > 16 ? 2 : 4, kMiddleRows = 4;
#endif

// The number type of a packed matrix: Float32, Float16 or BFloat16Bits.
struct Float32 {
  using Item = float;
};

// Whether the columns of a tile are deinterleaved in registers: vector 0 has the even columns of two vectors, and
// vector 1 the odd columns. Two vectors of bfloat16 are then loaded as one vector, which a shift and a mask split into
// its even and odd numbers. The largest tile has no register left for the mask.
template <typename Stored, int Rows, int Vectors>
inline constexpr bool kIsDeinterleaved = std::is_same_v<Stored, BFloat16Bits> && Vectors == 2 && Rows < kTileRows;

// Loads the numbers of one term of a panel as float32.
template <typename Stored, int Rows, int Vectors>
RL_INLINE void load_stored(const typename Stored::Item* p, Floats (&row)[Vectors]) {
  if constexpr (kIsDeinterleaved<Stored, Rows, Vectors>) {
    Stored::widen_pairs(p, row[0], row[1]);
  } else if constexpr (sizeof(typename Stored::Item) == 2) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = Stored::widen(load_shorts(p + j * kWidth));
  } else {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load(p + j * kWidth);
  }
}

template <int... I>
RL_INLINE void deinterleave(Floats& a, Floats& b, std::integer_sequence<int, I...>) {
  const Floats even = __builtin_shufflevector(a, b, (2 * I)...);
  b = __builtin_shufflevector(a, b, (2 * I + 1)...);
  a = even;
}
template <int... I>
RL_INLINE void interleave(Floats& a, Floats& b, std::integer_sequence<int, I...>) {
  const Floats low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * kWidth)...);
  b = __builtin_shufflevector(a, b, (kWidth / 2 + I / 2 + I % 2 * kWidth)...);
  a = low;
}

// Permute rows of sums from the order of the columns to the order of load_stored(), and back.
template <typename Stored, int Rows, int Vectors>
RL_INLINE void to_loaded_order(Floats (&acc)[Rows][Vectors]) {
  if constexpr (kIsDeinterleaved<Stored, Rows, Vectors>) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      deinterleave(acc[i][0], acc[i][1], std::make_integer_sequence<int, kWidth>{});
    }
  }
}
template <typename Stored, int Rows, int Vectors>
RL_INLINE void to_column_order(Floats (&acc)[Rows][Vectors]) {
  if constexpr (kIsDeinterleaved<Stored, Rows, Vectors>) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      interleave(acc[i][0], acc[i][1], std::make_integer_sequence<int, kWidth>{});
    }
  }
}

// How a tile prefetches PanelTile::ahead: not at all, with every term, or only once in kTerms terms. Each time, it
// prefetches at most one cache line.
enum class Fetching { None, Dense, Sparse };

// Whether there are tiles that prefetch. WebAssembly and RISC-V have no prefetch instruction. Builds for small size,
// and code for x86-64 without AVX2, omit these tiles to save size.
#if defined(__riscv) || RL_WIDTH == 4 && !defined(__aarch64__)
inline constexpr bool kFetches = false;
#else
inline constexpr bool kFetches = !kIsSmall;
#endif

// Computes a tile; see PanelTile.
//   Stored: the number type of the packed matrix
//   Rows, Vectors: the size of the tile; all sums are in registers
//   Ahead: how the tile prefetches
//   Step: the numbers from term to term of the panel; more than Vectors * kWidth if the panel is wider than the tile
//
// The loops run over the terms of all taps. They are interrupted at the end of a partial sum, and to prefetch a row of
// the residual. A partial sum is added to t.totals only when another term follows (ends_sum), so that the last partial
// sum stays in registers.
template <typename Stored, int Rows, int Vectors, Fetching Ahead, int Step>
static void panel_tile(const PanelTile& t) {
  Floats acc[Rows][Vectors];
  zero_sums<Rows, Vectors>(acc);
  const typename Stored::Item* b = static_cast<const typename Stored::Item*>(t.b);
  // A tile with nothing to prefetch prefetches the start of its panel again and again.
  [[maybe_unused]] const char* ahead = static_cast<const char*>(t.ahead ? t.ahead : t.b);
  [[maybe_unused]] const int64_t ahead_step = t.ahead ? t.ahead_step : 0;
  const float* const* rows = t.rows;
  const float* residual = t.epilogue.residual;
  int64_t residual_rows = residual ? Rows : 0;
  const auto fetch_residual = [&] {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) __builtin_prefetch(residual + j * kWidth, 0, 3);
    residual += t.epilogue.residual_step;
    --residual_rows;
  };
  // One row of the residual is prefetched after each `fetch_terms` terms. Prefetching all rows at once would delay the
  // loads of operands.
  const int64_t fetch_terms = residual ? t.k / (Rows + 1) / kTerms * kTerms + kTerms : t.k;
  int64_t taps_left = t.sum_taps;  // taps until the end of a partial sum
  bool ends_sum = false, has_totals = t.continues;
  for (int64_t tap = 0; tap < t.taps; ++tap, rows += t.row_step) {
    const float* a[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) a[i] = rows[i] + t.first;
    const auto fetch = [&](int terms) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += terms * ahead_step;
    };
    const auto add_term = [&](int64_t k) {
      Floats row[Vectors];
      load_stored<Stored, Rows>(b, row);
      RL_UNROLL for (int i = 0; i < Rows; ++i) {
        const Floats x = splat(a[i][k]);
        RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = add_product(acc[i][j], x, row[j]);
        keep_order(acc[i]);
      }
      b += Step;
    };
    int64_t k = 0, sum_end = t.sum_terms < t.k ? t.sum_terms : t.k;
    while (true) {
      if (ends_sum) {
        to_column_order<Stored>(acc);
        if (has_totals) add_totals<Rows, Vectors>(t.totals, acc);
        store_totals<Rows, Vectors>(acc, t.totals);
        zero_sums<Rows, Vectors>(acc);
        ends_sum = false, has_totals = true;
      }
      const int64_t end = residual_rows > 0 && k + fetch_terms < sum_end ? k + fetch_terms : sum_end;
      for (; k + kTerms <= end; k += kTerms) {
        if constexpr (Ahead == Fetching::Sparse) fetch(kTerms);
        RL_UNROLL for (int i = 0; i < kTerms; ++i) {
          if constexpr (Ahead == Fetching::Dense) fetch(1);
          add_term(k + i);
        }
      }
      if (end == t.k) break;
      if (end == sum_end) {
        ends_sum = true;
        sum_end = t.k - sum_end > t.sum_terms ? sum_end + t.sum_terms : t.k;
      } else {
        fetch_residual();
      }
    }
    // The last terms of a tap, fewer than kTerms.
    if constexpr (kTerms > 1) {
      for (; k < t.k; ++k) {
        if constexpr (Ahead != Fetching::None) fetch(1);
        add_term(k);
      }
    }
    if (--taps_left == 0) ends_sum = true, taps_left = t.sum_taps;
  }
  to_column_order<Stored>(acc);
  if (has_totals) add_totals<Rows, Vectors>(t.totals, acc);
  add_bias<Rows, Vectors>(acc, t.bias);
  store_sums<Rows, Vectors>(acc, t);
}

using PanelTileFunction = void (*)(const PanelTile&);

// Tiles with more rows prefetch with every term. This takes no additional time because of their many multiplications,
// and it saves code.
inline constexpr int kSparseRows = 4;

constexpr Fetching fetching_of(Fetching ahead, int rows) {
  return ahead == Fetching::Sparse && rows > kSparseRows ? Fetching::Dense : ahead;
}

// Returns the row count of the first tile of `rows` rows. There are few tiles in compact code and for weights of 16
// bits, because each tile is a long function. Other row counts are computed in several parts.
template <typename Stored>
constexpr int panel_rows(int rows) {
  if (rows == kTileRows || rows <= 2 || (std::is_same_v<Stored, Float32> && !kIsCompact)) return rows;
  return rows < 4 ? 2 : rows < 7 ? kMiddleRows : 7;
}

// Calls the tile for a row count from a table.
template <typename Stored, int Vectors, Fetching Ahead, int Step = Vectors * kWidth, int... I>
static void panel_of(int rows, const PanelTile& tile, std::integer_sequence<int, I...>) {
  static constexpr PanelTileFunction by_rows[] = {
      &panel_tile<Stored, panel_rows<Stored>(I + 1), Vectors, fetching_of(Ahead, I + 1), Step>...};
  by_rows[rows - 1](tile);
}

// Calls the float32 tile for a row count, at most `Most`, with the way of prefetching that the tile needs.
template <int Most, int Vectors, int Step = Vectors * kWidth>
static void panel_across(int rows, const PanelTile& tile) {
  using Rows = std::make_integer_sequence<int, Most>;
  if constexpr (!kFetches) {
    panel_of<Float32, Vectors, Fetching::None, Step>(rows, tile, Rows{});
  } else if (tile.ahead && tile.ahead_step > 64 / kTerms) {
    panel_of<Float32, Vectors, Fetching::Dense, Step>(rows, tile, Rows{});
  } else {
    panel_of<Float32, Vectors, Fetching::Sparse, Step>(rows, tile, Rows{});
  }
}

}  // namespace rushlight::microkernels::RL_ISA
