// Int8 products with an RHS that is not packed, in namespace rushlight::microkernels::RL_ISA, which defines the names
// that tables/impl/int8.h needs.
#pragma once

#include <cstring>
#include <utility>

#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

#if !defined(RL_OWN_TILE)
inline constexpr int kDotStep = kLanes * kGroup, kUnit = kGroup;
#endif

RL_INLINE int32_t total(const Sums& sums) {
  int32_t lanes[kLanes];
  std::memcpy(lanes, &sums, sizeof(lanes));
  int32_t sum = 0;
  RL_UNROLL for (int l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

template <int Rows, int Columns>
static void dot_tile(const Int8Dots& d) {
  Sums acc[Rows][Columns];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) acc[i][j] = Sums{};
  const Lhs* lhs = static_cast<const Lhs*>(d.lhs);
  const int8_t* rhs = d.rhs;
  int64_t n = d.numbers;
  for (; n >= kDotStep; n -= kDotStep, lhs += kDotStep, rhs += kDotStep) {
    Line x[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) x[i] = load_line(lhs + i * d.lhs_stride);
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      const Rhs column = load_rhs(rhs + j * d.rhs_stride);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_lines(acc[i][j], x[i], column);
    }
  }
  if (n > 0) {
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      int8_t rest[kDotStep] = {};
      std::memcpy(rest, rhs + j * d.rhs_stride, static_cast<size_t>(n));
      const Rhs column = load_rhs(rest);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_lines(acc[i][j], load_line(lhs + i * d.lhs_stride), column);
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Columns; ++j) {
    d.sums[i * d.sums_stride + j] = total(acc[i][j]);
  }
}

template <int Columns, int... I>
static void dot_rows(int64_t rows, const Int8Dots& d, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Int8Dots&) = {&dot_tile<I + 1, Columns>...};
  Int8Dots part = d;
  for (int64_t i = 0; i < rows;) {
    const int64_t n = rows - i < kDotRows ? rows - i : kDotRows;
    part.lhs = static_cast<const Lhs*>(d.lhs) + i * d.lhs_stride;
    part.sums = d.sums + i * d.sums_stride;
    by_rows[n - 1](part);
    i += n;
  }
}

static void dots(int64_t rows, int64_t columns, const Int8Dots& d) {
  using Rows = std::make_integer_sequence<int, kDotRows>;
  Int8Dots part = d;
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4, part.rhs += 4 * d.rhs_stride, part.sums += 4) dot_rows<4>(rows, part, Rows{});
  for (; j < columns; ++j, part.rhs += d.rhs_stride, ++part.sums) dot_rows<1>(rows, part, Rows{});
}

}  // namespace rushlight::microkernels::RL_ISA
