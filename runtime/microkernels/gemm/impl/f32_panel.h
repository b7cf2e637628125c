// Float32 tiles for matrices that are packed ahead of time.
#pragma once

#include <type_traits>
#include <utility>

#include "microkernels/elementwise/impl/f32.h"
#include "microkernels/gemm/impl/f32.h"
#include "microkernels/gemm/impl/f32_panel_tile.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/selected.h"
#include "microkernels/tables/tile_parts.h"

namespace rushlight::microkernels::RL_ISA {

// The maximum rows of a tile that is one vector wide. Its sums take half as many registers as those of wider tiles.
#if RL_WIDTH >= 16
inline constexpr int kNarrowRows = kIsCompact ? kTileRows : 14;
#else
inline constexpr int kNarrowRows = kIsCompact ? kTileRows : 12;
#endif

// Applies the epilogue except `op` to one vector.
RL_INLINE Floats finish(Floats value, const Epilogue& e, const float* residual, int64_t left) {
  if (residual) value += left >= kWidth ? load(residual) : load_few(residual, left);
  if (e.clamps) value = at_most(at_least(value, splat(e.low)), splat(e.high));
  return value;
}

static void apply(const Epilogue& e, float* c, int64_t step, int64_t rows, int64_t columns) {
  unary_rows(e.op, c, c, step, rows, columns, e.p, e.q);
}

// Applies the epilogue to the sums of a tile and stores them.
template <int Rows, int Vectors, typename Tile>
RL_INLINE void store_tile(Floats (&acc)[Rows][Vectors], const Tile& t) {
  store_sums<Rows, Vectors>(acc, t);
  if (t.epilogue.applies) apply(t.epilogue, t.c, t.c_step, Rows, t.columns);
}

// Calls tile(rows, part) for a part that has a tile, until all rows are computed.
template <typename Stored, typename Function>
RL_INLINE void for_parts(int rows, int vectors, const PanelTile& whole, const Function& tile) {
  int part = panel_rows<Stored>(rows);
  if (part == rows) return tile(rows, whole);
  PanelTile rest = whole;
  for (;;) {
    tile(part, rest);
    rows -= part;
    if (rows == 0) return;
    rest.rows += part;
    if (rest.totals) rest.totals += part * vectors * kWidth;
    move_down(rest, part);
    part = panel_rows<Stored>(rows);
  }
}

static void panel(int rows, int vectors, const PanelTile& whole) {
  for_parts<Float32>(rows, vectors, whole, [=](int part, const PanelTile& tile) {
    if (vectors == 1) return panel_across<kNarrowRows, 1>(part, tile);
    if (vectors == 2) return panel_across<kTileRows, 2>(part, tile);
    if constexpr (kTileVectors >= 3) return panel_across<kTileRows, 3>(part, tile);
  });
}

static void f16_panel(F16Type type, int rows, int vectors, const PanelTile& whole) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  for_f16(type, [&](auto stored) {
    using Stored = decltype(stored);
    for_parts<Stored>(rows, vectors, whole, [=](int part, const PanelTile& tile) {
      if (vectors == 1) return panel_of<Stored, 1, Fetching::None>(part, tile, Rows{});
      if (vectors == 2) return panel_of<Stored, 2, Fetching::None>(part, tile, Rows{});
      if constexpr (kTileVectors >= 3) return panel_of<Stored, 3, Fetching::None>(part, tile, Rows{});
    });
  });
}

// Step: the value of LineTile::step, or 0 if it is not a constant.
template <int Rows, int Vectors, int Step>
static void line_tile(const LineTile& t) {
  Floats acc[Rows][Vectors];
  zero_sums<Rows, Vectors>(acc);
  int64_t at[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) at[i] = t.first + i * (Step == 0 ? t.step : Step);
  const float* b = t.b;
  for (int64_t k = 0; k < t.k; ++k) {
    const float* line = t.lines[k];
    Floats row[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load(b + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats x = splat(line[at[i]]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += x * row[j];
      keep_order(acc[i]);
    }
    b += Vectors * kWidth;
  }
  add_bias<Rows, Vectors>(acc, t.bias);
  store_tile<Rows, Vectors>(acc, t);
}

// Returns the row count of the first tile of `rows` rows; compare panel_rows().
constexpr int line_rows(int rows) { return kIsCompact ? panel_rows<Float32>(rows) : rows_in_table<kTileRows>(rows); }

// Tiles of one vector have no variant for a step of 2, which would be at most 5 % faster.
template <int Vectors, int... I>
static void line_of(int rows, const LineTile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const LineTile&) = {&line_tile<line_rows(I + 1), Vectors, 0>...};
  static constexpr void (*by_twos[])(const LineTile&) = {&line_tile < line_rows(I + 1), Vectors,
                                                         kIsCompact || Vectors == 1 ? 0 : 2 > ...};
  (tile.step == 2 ? by_twos : by_rows)[rows - 1](tile);
}

static void line(int rows, int vectors, const LineTile& tile) {
  const int part = line_rows(rows);
  if (part < rows) {
    line(part, vectors, tile);
    LineTile rest = tile;
    rest.first += part * rest.step;
    rest.c += part * rest.c_step;
    if (rest.epilogue.residual) rest.epilogue.residual += part * rest.epilogue.residual_step;
    return line(rows - part, vectors, rest);
  }
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (vectors == 1) return line_of<1>(rows, tile, Rows{});
  if (vectors == 2) return line_of<2>(rows, tile, Rows{});
  if constexpr (kTileVectors >= 3) return line_of<3>(rows, tile, Rows{});
}

static void saturate(int64_t rounds, float* sums) {
  constexpr int kSums = kTileRows * kTileVectors;
  Floats acc[kSums];
  const Floats factor = load(sums) * 0.5f, term = load(sums) * 0.25f;
  RL_UNROLL for (int i = 0; i < kSums; ++i) acc[i] = load(sums + i * kWidth);
  for (int64_t round = 0; round < rounds; ++round) {
    RL_UNROLL for (int i = 0; i < kSums; ++i) acc[i] = acc[i] * factor + term;
  }
  RL_UNROLL for (int i = 0; i < kSums; ++i) store(sums + i * kWidth, acc[i]);
}

// Whether row() uses several partial sums for the ends of rows. Results depend on it, so that it is the same in small
// and in fast builds. Code for rare processors and WebAssembly leaves it out.
#if defined(__wasm__) || (defined(__x86_64__) && !defined(__AVX2__))
inline constexpr bool kHasEnds = false;
#else
inline constexpr bool kHasEnds = true;
#endif

// The number of partial sums of a column. If few adjacent panels are computed, several partial sums hide the latency of
// additions.
template <int Panels>
inline constexpr int kSumsAmong = Panels >= 3 ? 1 : 4 / Panels;

// Computes one row of `Panels` adjacent panels of `Vectors` vectors. kSums is a power of two: partial sum s of a column
// has the terms l with l % kSums == s. They are added up after each kTermsOfSum terms.
template <typename Stored, int Panels, int Vectors, int kSums>
RL_INLINE void row_part(const float* x, int64_t k, const typename Stored::Item* b, const float* bias, float* c,
                        int64_t columns, const Epilogue& e) {
  Floats total[Panels][Vectors];
  RL_UNROLL for (int p = 0; p < Panels; ++p) {
    RL_UNROLL for (int v = 0; v < Vectors; ++v) total[p][v] = bias ? load(bias + (p * Vectors + v) * kWidth) : Floats{};
  }
  to_loaded_order<Stored>(total);
  const int64_t step = k * Vectors * kWidth;
  const auto add_term = [&](int64_t l, auto& to) {
    const Floats value = splat(x[l]);
    const typename Stored::Item* at = b + l * Vectors * kWidth;
    RL_UNROLL for (int p = 0; p < Panels; ++p) {
      Floats row[Vectors];
      load_stored<Stored, Panels>(at + p * step, row);
      RL_UNROLL for (int v = 0; v < Vectors; ++v) to[p][v] += value * row[v];
    }
  };
  for (int64_t l = 0; l < k;) {
    const int64_t end = k - l < kTermsOfSum ? k : l + kTermsOfSum;
    Floats sums[kSums][Panels][Vectors];
    RL_UNROLL for (int s = 0; s < kSums; ++s) {
      RL_UNROLL for (int p = 0; p < Panels; ++p) RL_UNROLL for (int v = 0; v < Vectors; ++v) sums[s][p][v] = Floats{};
    }
    for (; l + kSums <= end; l += kSums) {
      RL_UNROLL for (int s = 0; s < kSums; ++s) add_term(l + s, sums[s]);
    }
    if constexpr (kSums > 1) {
      for (; l < end; ++l) add_term(l, sums[0]);
      RL_UNROLL for (int half = kSums / 2; half > 0; half /= 2) {
        RL_UNROLL for (int s = 0; s < half; ++s) {
          RL_UNROLL for (int p = 0; p < Panels; ++p) {
            RL_UNROLL for (int v = 0; v < Vectors; ++v) sums[s][p][v] += sums[s + half][p][v];
          }
        }
      }
    }
    RL_UNROLL for (int p = 0; p < Panels; ++p) RL_UNROLL for (int v = 0; v < Vectors; ++v) total[p][v] += sums[0][p][v];
  }
  to_column_order<Stored>(total);
  RL_UNROLL for (int j = 0; j < Panels * Vectors; ++j) {
    const int64_t left = columns - j * kWidth;
    if (left <= 0) break;
    const Floats value =
        finish(total[j / Vectors][j % Vectors], e, e.residual ? e.residual + j * kWidth : nullptr, left);
    left >= kWidth ? store(c + j * kWidth, value) : store_few(c + j * kWidth, value, left);
  }
}

// Computes one row of a product: four panels at a time, then the panels that remain. Ends: whether several partial sums
// are used for the panels that remain; see F32PackedMicrokernels::row().
template <typename Stored, bool Ends>
RL_INLINE void row_of(const float* x, int64_t k, const typename Stored::Item* b, const float* bias, float* c,
                      int64_t columns, const Epilogue& epilogue) {
  constexpr int64_t kPanel = kTileVectors * kWidth;
  Epilogue e = epilogue;
  float* const first = c;
  const int64_t total = columns;
  const auto take = [&](auto panels, auto vectors, int64_t n) {
    constexpr int kSums = Ends ? kSumsAmong<panels()> : 1;
    row_part<Stored, panels(), vectors(), kSums>(x, k, b, bias, c, n, e);
    b += panels() * vectors() * kWidth * k, c += n, columns -= n;
    if (bias) bias += n;
    if (e.residual) e.residual += n;
  };
  const auto take_whole = [&](auto panels) {
    take(panels, std::integral_constant<int, kTileVectors>{}, panels() * kPanel);
  };
  while (columns >= 4 * kPanel) take_whole(std::integral_constant<int, 4>{});
  if constexpr (Ends || !kIsCompact) {
    if (columns >= 3 * kPanel) take_whole(std::integral_constant<int, 3>{});
    if (columns >= 2 * kPanel) take_whole(std::integral_constant<int, 2>{});
  }
  while (columns >= kPanel) take_whole(std::integral_constant<int, 1>{});
  if (columns > 0) {
    constexpr std::integral_constant<int, 1> kOne;
    const int vectors = static_cast<int>((columns + kWidth - 1) / kWidth);
    if (vectors == 1) {
      take(kOne, std::integral_constant<int, 1>{}, columns);
    } else if (vectors == 2 || kTileVectors < 3) {
      take(kOne, std::integral_constant<int, 2>{}, columns);
    } else {
      take(kOne, std::integral_constant<int, kTileVectors>{}, columns);
    }
  }
  if (e.applies) unary(e.op, first, first, total, e.p, e.q);
}

static void row(const float* x, int64_t k, const float* b, const float* bias, float* c, int64_t columns, bool ends,
                const Epilogue& epilogue) {
  ends&& kHasEnds ? row_of<Float32, kHasEnds>(x, k, b, bias, c, columns, epilogue)
                  : row_of<Float32, false>(x, k, b, bias, c, columns, epilogue);
}

static void f16_row(F16Type type, const float* x, int64_t k, const uint16_t* b, const float* bias, float* c,
                    int64_t columns, bool ends, const Epilogue& epilogue) {
  for_f16(type, [&](auto stored) {
    ends&& kHasEnds ? row_of<decltype(stored), kHasEnds>(x, k, b, bias, c, columns, epilogue)
                    : row_of<decltype(stored), false>(x, k, b, bias, c, columns, epilogue);
  });
}

}  // namespace rushlight::microkernels::RL_ISA
