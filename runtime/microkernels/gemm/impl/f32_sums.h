// What tiles of products with packed matrices begin and end with.
#pragma once

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

template <int Rows, int Vectors>
RL_INLINE void add_rows(const float* from, int64_t step, int64_t columns, Floats (&acc)[Rows][Vectors]) {
  if (columns == Vectors * kWidth) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += load(from + i * step + j * kWidth);
    }
    return;
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      const float* at = from + i * step + j * kWidth;
      const int64_t left = columns - j * kWidth;
      if (left > 0) acc[i][j] += left >= kWidth ? load(at) : load_few(at, left);
    }
  }
}

// The bias, or zero.
template <int Rows, int Vectors>
RL_INLINE void start_sums(Floats (&acc)[Rows][Vectors], const PanelTile& t) {
  if (t.bias) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      const Floats bias = load(t.bias + j * kWidth);
      RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = bias;
    }
  } else {
    RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Floats{};
  }
}
template <int Rows, int Vectors>
RL_INLINE void add_addend(Floats (&acc)[Rows][Vectors], const PanelTile& t) {
  if (t.addend) add_rows<Rows, Vectors>(t.addend, t.addend_step, t.columns, acc);
}

// Adds the residual, clamps and stores.
template <int Rows, int Vectors, typename Tile>
RL_INLINE void store_sums(Floats (&acc)[Rows][Vectors], const Tile& t) {
  float* const c = t.c;
  const int64_t step = t.c_step, columns = t.columns;
  const Epilogue& e = t.epilogue;
  if (e.residual) add_rows<Rows, Vectors>(e.residual, e.residual_step, columns, acc);
  if (e.clamps) {
    const Floats low = splat(e.low), high = splat(e.high);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = at_most(at_least(acc[i][j], low), high);
    }
  }
  if (columns == Vectors * kWidth) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) store(c + i * step + j * kWidth, acc[i][j]);
    }
  } else {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) {
        const int64_t left = columns - j * kWidth;
        if (left <= 0) continue;
        left >= kWidth ? store(c + i * step + j * kWidth, acc[i][j])
                       : store_few(c + i * step + j * kWidth, acc[i][j], left);
      }
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
