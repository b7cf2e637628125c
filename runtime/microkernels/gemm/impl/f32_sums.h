// The first and the last part of float32 tiles: initial sums, partial columns and the epilogue.
#pragma once

#include <cstddef>

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

// The last vector of a tile at the right edge of a matrix may be partly used. It is loaded and stored with masks or
// through a buffer, because separate code for each number of columns would be too long.
#if RL_MASKS
template <int Vectors>
struct TileColumns {
  Lanes lanes[Vectors];

  explicit RL_MEMBER TileColumns(int64_t columns) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      const int64_t left = columns - j * kWidth;
      lanes[j] = first_lanes(left < 0 ? 0 : left < kWidth ? left : kWidth);
    }
  }
};
#else
// Copy rows of `columns` < width numbers to rows of `width` numbers, padded with zeros, and copy rows back without the
// padding.
static __attribute__((noinline)) void read_few(const float* from, int64_t step, int64_t rows, int64_t columns,
                                               int64_t width, float* to) {
  const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
  for (int64_t i = 0; i < rows; ++i) {
    __builtin_memcpy(to + i * width, from + i * step, bytes);
    for (int64_t j = columns; j < width; ++j) to[i * width + j] = 0;
  }
}
static __attribute__((noinline)) void write_few(const float* from, int64_t rows, int64_t columns, int64_t width,
                                                float* to, int64_t step) {
  const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
  for (int64_t i = 0; i < rows; ++i) __builtin_memcpy(to + i * step, from + i * width, bytes);
}
#endif

// Returns the address of the next row. The assembly stops compilers from computing all row addresses first, which
// spills registers.
RL_INLINE const float* next_row(const float* row, int64_t step) {
  row += step;
  asm("" : "+r"(row));
  return row;
}
RL_INLINE float* next_row(float* row, int64_t step) {
  row += step;
  asm("" : "+r"(row));
  return row;
}

template <int Rows, int Vectors>
RL_INLINE void add_rows(const float* from, int64_t step, int64_t columns, Floats (&acc)[Rows][Vectors]) {
#if RL_MASKS
  if (columns < Vectors * kWidth) {
    const TileColumns<Vectors> few(columns);
    RL_UNROLL for (int i = 0; i < Rows; ++i, from = next_row(from, step)) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) { acc[i][j] += load_lanes(few.lanes[j], from + j * kWidth); }
    }
    return;
  }
#else
  alignas(kWidth * 4) float tile[Rows][Vectors * kWidth];
  if (columns < Vectors * kWidth) {
    read_few(from, step, Rows, columns, Vectors * kWidth, tile[0]);
    from = tile[0], step = Vectors * kWidth;
  }
#endif
  RL_UNROLL for (int i = 0; i < Rows; ++i, from = next_row(from, step)) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += load(from + j * kWidth);
  }
}

template <int Rows, int Vectors>
RL_INLINE void zero_sums(Floats (&acc)[Rows][Vectors]) {
  RL_UNROLL for (int i = 0; i < Rows; ++i) { RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Floats{}; }
}
// Sets the sums of each row to the bias [columns], or to 0 if it is null.
template <int Rows, int Vectors>
RL_INLINE void start_sums(Floats (&acc)[Rows][Vectors], const float* bias) {
  if (!bias) return zero_sums<Rows, Vectors>(acc);
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const Floats value = load(bias + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = value;
  }
}
// Adds the bias [columns], which may be null. It is added after the products. If a large bias were added first, each
// addition would round to its magnitude.
template <int Rows, int Vectors>
RL_INLINE void add_bias(Floats (&acc)[Rows][Vectors], const float* bias) {
  if (!bias) return;
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const Floats value = load(bias + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] += value;
  }
}
// Moves the addend, the residual and the results of a tile down by `rows` rows.
RL_INLINE void move_down(PanelTile& t, int64_t rows) {
  if (t.addend) t.addend += rows * t.addend_step;
  if (t.epilogue.residual) t.epilogue.residual += rows * t.epilogue.residual_step;
  t.c += rows * t.c_step;
}
template <int Rows, int Vectors>
RL_INLINE void add_addend(Floats (&acc)[Rows][Vectors], const PanelTile& t) {
  if (t.addend) add_rows<Rows, Vectors>(t.addend, t.addend_step, t.columns, acc);
}

// Adds the totals of previous partial sums [Rows, Vectors * kWidth] to the sums, and stores the sums as totals.
template <int Rows, int Vectors>
RL_INLINE void add_totals(const float* totals, Floats (&acc)[Rows][Vectors]) {
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] += load(totals + (i * Vectors + j) * kWidth);
  }
}
template <int Rows, int Vectors>
RL_INLINE void store_totals(const Floats (&acc)[Rows][Vectors], float* totals) {
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) store(totals + (i * Vectors + j) * kWidth, acc[i][j]);
  }
}

// Adds the residual, clamps and stores the sums.
template <int Rows, int Vectors, typename Tile>
RL_INLINE void store_sums(Floats (&acc)[Rows][Vectors], const Tile& t) {
  float* c = t.c;
  const int64_t step = t.c_step, columns = t.columns;
  const Epilogue& e = t.epilogue;
  if (e.residual) add_rows<Rows, Vectors>(e.residual, e.residual_step, columns, acc);
  if (e.clamps) {
    const Floats low = splat(e.low), high = splat(e.high);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = at_most(at_least(acc[i][j], low), high);
    }
  }
#if RL_MASKS
  if (columns != Vectors * kWidth) {
    const TileColumns<Vectors> few(columns);
    RL_UNROLL for (int i = 0; i < Rows; ++i, c = next_row(c, step)) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) store_lanes(few.lanes[j], c + j * kWidth, acc[i][j]);
    }
    return;
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i, c = next_row(c, step)) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) store(c + j * kWidth, acc[i][j]);
  }
#else
  alignas(kWidth * 4) float tile[Rows][Vectors * kWidth];
  const bool whole = columns == Vectors * kWidth;
  float* to = whole ? c : tile[0];
  const int64_t to_step = whole ? step : Vectors * kWidth;
  RL_UNROLL for (int i = 0; i < Rows; ++i, to = next_row(to, to_step)) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) store(to + j * kWidth, acc[i][j]);
  }
  if (!whole) write_few(tile[0], Rows, columns, Vectors * kWidth, c, step);
#endif
}

}  // namespace rushlight::microkernels::RL_ISA
