// Products with columns as they lie, in namespace rushlight::tiles::RL_TILES_ISA, which has what byte_gemm.h asks for.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

#if !defined(RL_TILES_OWN_TILE)
inline constexpr int kDotStep = kLanes * kGroup;
#endif

RL_INLINE int32_t total(const Sums& sums) {
  int32_t lanes[kLanes];
  std::memcpy(lanes, &sums, sizeof(lanes));
  int32_t sum = 0;
  RL_UNROLL for (int l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

template <int Rows, int Columns>
static void dot_tile(const ByteDots& d) {
  Sums acc[Rows][Columns];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) acc[i][j] = Sums{};
  const Left* left = static_cast<const Left*>(d.left);
  const int8_t* right = d.right;
  int64_t n = d.numbers;
  for (; n >= kDotStep; n -= kDotStep, left += kDotStep, right += kDotStep) {
    Line x[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) x[i] = load_line(left + i * d.left_stride);
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      const Right column = load_right(right + j * d.right_stride);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_lines(acc[i][j], x[i], column);
    }
  }
  if (n > 0) {
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      int8_t rest[kDotStep] = {};
      std::memcpy(rest, right + j * d.right_stride, static_cast<size_t>(n));
      const Right column = load_right(rest);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_lines(acc[i][j], load_line(left + i * d.left_stride), column);
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) {
    d.sums[i * d.sums_stride + j] = total(acc[i][j]);
  }
}

template <int Columns, int... I>
static void dot_rows(int64_t rows, const ByteDots& d, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const ByteDots&) = {&dot_tile<I + 1, Columns>...};
  ByteDots part = d;
  for (int64_t i = 0; i < rows;) {
    const int64_t n = rows - i < kDotRows ? rows - i : kDotRows;
    part.left = static_cast<const Left*>(d.left) + i * d.left_stride;
    part.sums = d.sums + i * d.sums_stride;
    by_rows[n - 1](part);
    i += n;
  }
}

static void dots(int64_t rows, int64_t columns, const ByteDots& d) {
  using Rows = std::make_integer_sequence<int, kDotRows>;
  ByteDots part = d;
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4, part.right += 4 * d.right_stride, part.sums += 4) dot_rows<4>(rows, part, Rows{});
  for (; j < columns; ++j, part.right += d.right_stride, ++part.sums) dot_rows<1>(rows, part, Rows{});
}

}  // namespace rushlight::tiles::RL_TILES_ISA
