// Tiles of int8 sums over packed operands, in namespace rushlight::microkernels::RL_ISA. The file that includes this
// one first defines in that namespace
//   kLanes, kGroup, kTileRows
//   Lhs          a number of the LHS
//   Sums         a vector of kLanes int32_t
//   load_rhs()   a vector of kLanes * kGroup numbers of the RHS, or its address
//   Spread       kGroup numbers of the LHS in every lane: Spread spread(const Lhs*)
//   void add_products(Sums&, Spread, the vector of load_rhs())
#pragma once

#include <utility>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

// Tile: a struct with the members lhs, lhs_stride, rhs, groups, sums, sums_stride and accumulate of Int8Tile.
template <typename Tile, int Rows, int Vectors>
RL_INLINE void add_groups(Sums (&acc)[Rows][Vectors], const Tile& t) {
  const Lhs* lhs = static_cast<const Lhs*>(t.lhs);
  auto rhs = t.rhs;
  const int64_t stride = t.lhs_stride;
  for (int64_t g = 0; g < t.groups; ++g) {
    decltype(load_rhs(rhs)) column[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) column[j] = load_rhs(rhs + j * kLanes * kGroup);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Spread x = spread(lhs + i * stride);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) add_products(acc[i][j], x, column[j]);
      keep_order(acc[i]);
    }
    lhs += kGroup;
    rhs += Vectors * kLanes * kGroup;
  }
}

template <typename Tile, int Rows, int Vectors>
static void sums_tile(const Tile& t) {
  Sums acc[Rows][Vectors];
  int32_t* const sums = t.sums;
  if (t.accumulate) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      acc[i][j] = *reinterpret_cast<const Sums*>(sums + i * t.sums_stride + j * kLanes);
    }
  } else {
    RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Sums{};
  }
  add_groups(acc, t);
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    *reinterpret_cast<Sums*>(sums + i * t.sums_stride + j * kLanes) = acc[i][j];
  }
}

template <typename Tile, int Vectors, int... I>
static void sums_of_rows(int rows, const Tile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Tile&) = {&sums_tile<Tile, I + 1, Vectors>...};
  by_rows[rows - 1](tile);
}

// 1 <= rows <= kTileRows, vectors 1 or 2.
template <typename Tile>
static void sums_of(int rows, int vectors, const Tile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (vectors == 1) return sums_of_rows<Tile, 1>(rows, tile, Rows{});
  return sums_of_rows<Tile, 2>(rows, tile, Rows{});
}

}  // namespace rushlight::microkernels::RL_ISA
