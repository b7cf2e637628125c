// The transforms of F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3) (Lavin and Gray 2016) for channels-last images.
#pragma once

#include "kernels/optimized/tiles/impl/elementwise.h"
#include "kernels/optimized/tiles/impl/panel.h"
#include "kernels/optimized/tiles/impl/pixels.h"
#include "kernels/optimized/tiles/impl/vec.h"
#include "kernels/optimized/tiles/packed.h"

namespace rushlight::tiles::RL_TILES_ISA {

template <int M, bool Inside, bool Whole>
RL_INLINE void winograd_input_at(const WinogradInput& t, int64_t c, int64_t left) {
  constexpr int kIn = M + 2;
  Floats columns[kIn][kIn];  // [x][y]
  RL_UNROLL for (int x = 0; x < kIn; ++x) {
    Floats d[kIn];
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      const bool exists = Inside || (y >= t.first_line && y < t.lines && x >= t.first_column && x < t.columns);
      const float* p = t.from + y * t.line_step + x * t.column_step + c;
      d[y] = exists ? (Whole ? load(p) : load_few(p, left)) : Floats{};
    }
    Winograd<M>::input(d, columns[x]);
  }
  RL_UNROLL for (int y = 0; y < kIn; ++y) {
    Floats row[kIn], v[kIn];
    RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
    Winograd<M>::input(row, v);
    RL_UNROLL for (int x = 0; x < kIn; ++x) {
      float* p = t.to + (y * kIn + x) * t.to_step + c;
      Whole ? store(p, v[x]) : store_few(p, v[x], left);
    }
  }
}

template <int M>
static void winograd_tile_input(const WinogradInput& t) {
  constexpr int kIn = M + 2;
  const bool inside = t.first_line <= 0 && t.first_column <= 0 && t.lines >= kIn && t.columns >= kIn;
  int64_t c = 0;
  if (inside) {
    for (; c + kWidth <= t.channels; c += kWidth) winograd_input_at<M, true, true>(t, c, kWidth);
  } else {
    for (; c + kWidth <= t.channels; c += kWidth) winograd_input_at<M, false, true>(t, c, kWidth);
  }
  if (c < t.channels) winograd_input_at<M, false, false>(t, c, t.channels - c);
}

template <int M, bool Whole>
RL_INLINE void winograd_output_at(const WinogradOutput& t, int64_t c, int64_t left) {
  constexpr int kIn = M + 2;
  Floats columns[kIn][M];  // [x][y]
  RL_UNROLL for (int x = 0; x < kIn; ++x) {
    Floats m[kIn];
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      const float* p = t.from + (y * kIn + x) * t.from_step + c;
      m[y] = Whole ? load(p) : load_few(p, left);
    }
    Winograd<M>::output(m, columns[x]);
  }
  const Floats bias = t.bias ? (Whole ? load(t.bias + c) : load_few(t.bias + c, left)) : Floats{};
  RL_UNROLL for (int y = 0; y < M; ++y) {
    if (y >= t.lines) break;
    Floats row[kIn], v[M];
    RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
    Winograd<M>::output(row, v);
    RL_UNROLL for (int x = 0; x < M; ++x) {
      if (x >= t.columns) break;
      const int64_t at = y * t.line_step + x * t.column_step + c;
      const Floats value = finish(v[x] + bias, t.epilogue, t.epilogue.residual ? t.epilogue.residual + at : nullptr,
                                  Whole ? kWidth : left);
      Whole ? store(t.to + at, value) : store_few(t.to + at, value, left);
    }
  }
}

template <int M>
static void winograd_tile_output(const WinogradOutput& t) {
  int64_t c = 0;
  for (; c + kWidth <= t.channels; c += kWidth) winograd_output_at<M, true>(t, c, kWidth);
  if (c < t.channels) winograd_output_at<M, false>(t, c, t.channels - c);
  if (!t.epilogue.applies) return;
  for (int64_t y = 0; y < t.lines; ++y) {
    for (int64_t x = 0; x < t.columns; ++x) {
      float* p = t.to + y * t.line_step + x * t.column_step;
      unary(t.epilogue.op, p, p, t.channels, t.epilogue.p, t.epilogue.q);
    }
  }
}

static constexpr PackedTiles make_packed_tiles() {
  PackedTiles t{};
  t.narrow_rows = kNarrowRows;
  t.panel = &panel;
  t.row = &row;
  t.depthwise = &depthwise_run;
  t.pool = &pool;
  t.winograd2_input = &winograd_tile_input<2>;
  t.winograd2_output = &winograd_tile_output<2>;
  t.winograd4_input = &winograd_tile_input<4>;
  t.winograd4_output = &winograd_tile_output<4>;
  return t;
}

}  // namespace rushlight::tiles::RL_TILES_ISA
