// Tiles with half vectors, for panels that are packed for whole vectors.
#pragma once

#include <utility>

#include "microkernels/gemm/impl/f32_panel_tile.h"
#include "microkernels/tables/f32_halves.h"

namespace rushlight::microkernels::RL_ISA {

// The maximum number of rows of a tile. The addresses of ten rows fit into the general registers. The sums of eight
// rows of three halves fit into the vector registers.
inline constexpr int kHalfRows = 10, kRowsOfThree = 8;

// Calls the tile for a row count. All tiles prefetch with every term, which saves code.
template <int Most, int Halves, int Step>
static void half_panel_of(int rows, const PanelTile& tile) {
  panel_of<Float32, Halves, Fetching::Dense, Step>(rows, tile, std::make_integer_sequence<int, Most>{});
}

static void half_panel(int rows, int halves, const PanelTile& tile) {
  if (halves == 1) return half_panel_of<kHalfRows, 1, 2 * kWidth>(rows, tile);
  if (halves == 2) return half_panel_of<kHalfRows, 2, 2 * kWidth>(rows, tile);
  half_panel_of<kRowsOfThree, 3, 4 * kWidth>(rows, tile);
}

static constexpr F32HalfMicrokernels make_half_table() {
  F32HalfMicrokernels t{};
  t.width = kWidth;
  t.whole_rows = 10;
  t.rows[0] = t.rows[1] = kHalfRows;
  t.rows[2] = kRowsOfThree;
  t.panel = &half_panel;
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
