// The int8 table of one instruction set, in namespace rushlight::microkernels::RL_ISA. The file that includes this one
// first defines in that namespace
//   kLanes, kGroup, kTileRows, kTileVectors, kLhsOffset
//   Lhs          a number of the LHS: int8_t, uint8_t or int16_t
//   Sums         a vector of kLanes int32_t
//   Rhs          a vector of kLanes * kGroup numbers: Rhs load_rhs(const int8_t*)
//   Spread       kGroup numbers of the LHS in every lane: Spread spread(const Lhs*)
//   void add_products(Sums&, Spread, Rhs)
//   Line         a vector of kLanes * kGroup numbers of the LHS: Line load_line(const Lhs*)
//   void add_lines(Sums&, Line, Rhs)
//   kDotRows     maximum rows of the LHS that dots() multiplies by a column at a time
// and the names that gemm/impl/int8_epilogue.h needs. With RL_OWN_TILE it defines int8_tile(), kDotStep (the numbers of
// a Line) and kUnit (the numbers of a Spread), which differ from those of a tile. With RL_PRODUCTS the table has only
// products; int8_joined.h adds the rest.
#pragma once

#include <cstring>
#include <utility>

#include "microkernels/conv/impl/int8_groups.h"
#include "microkernels/gemm/impl/int4.h"
#include "microkernels/gemm/impl/int8_dots.h"
#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/selected.h"
#if !defined(RL_OWN_TILE)
#include "microkernels/gemm/impl/int8_sums.h"
#endif
#if !defined(RL_PRODUCTS)
#include "microkernels/conv/impl/int8_channels.h"
#include "microkernels/elementwise/impl/int8.h"
#include "microkernels/elementwise/impl/int8_loops.h"
#include "microkernels/gemm/impl/int8_scaled.h"
#endif

namespace rushlight::microkernels::RL_ISA {

#if defined(RL_OWN_TILE)
template <int Vectors, int... I>
static void int8_gemm_of(int rows, const Int8Tile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Int8Tile&) = {&int8_tile<I + 1, Vectors>...};
  by_rows[rows - 1](tile);
}

static void int8_gemm(int rows, int vectors, const Int8Tile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (vectors == 1) return int8_gemm_of<1>(rows, tile, Rows{});
  return int8_gemm_of<2>(rows, tile, Rows{});
}
#else
static void int8_gemm(int rows, int vectors, const Int8Tile& tile) { sums_of(rows, vectors, tile); }
#endif

static void pack_lhs(const uint8_t* from, uint8_t sign_mask, int64_t n, void* to) {
  Lhs* const lhs = static_cast<Lhs*>(to);
  if constexpr (sizeof(Lhs) == 1) {
    const uint8_t change = static_cast<uint8_t>(sign_mask ^ kLhsOffset);
    if (change == 0) {
      std::memcpy(lhs, from, static_cast<size_t>(n));
    } else {
      for (int64_t i = 0; i < n; ++i) lhs[i] = static_cast<Lhs>(from[i] ^ change);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) lhs[i] = static_cast<int8_t>(from[i] ^ sign_mask);
  }
}

static void fill_lhs(int8_t value, int64_t n, void* to) {
  Lhs* const lhs = static_cast<Lhs*>(to);
  for (int64_t i = 0; i < n; ++i) lhs[i] = static_cast<Lhs>(value + kLhsOffset);
}

static constexpr Int8Microkernels make_int8_table(const char* name) {
  Int8Microkernels t{};
  t.name = name;
  t.lanes = kLanes;
  t.rows = kTileRows;
  t.vectors = kTileVectors;
  t.group = kGroup;
  t.dot_step = kDotStep;
  t.lhs_size = sizeof(Lhs);
  t.lhs_offset = kLhsOffset;
  RL_SET(pack_lhs, pack_lhs);
  RL_SET(fill_lhs, fill_lhs);
  RL_SET(gemm, int8_gemm);
  RL_SET(dots, dots);
  t.unit = kUnit;
  RL_SET(group_sums, group_sums);
  RL_SET(repeat_groups, repeat_groups);
  t.int4_offset = kInt4Offset;
  RL_SET(pack_int4_lhs, pack_int4_lhs);
  RL_SET(int4_dots, int4_dots);
#if !defined(RL_PRODUCTS)
  RL_SET(channel_sums, channel_sums);
  RL_SET(quantize, quantize);
  RL_SET(dequantize_int8, dequantize_int8);
  RL_SET(dequantize_int4, dequantize_int4);
  if (is_selected("grouped")) RL_SET(dequantize_panel, dequantize_panel);
  RL_SET(extremes, extremes);
  RL_SET(combine, combine);
  RL_SET(int4_row, int4_row);
  t.scaled_rows = kIsCompact ? 1 : 8;
  RL_SET(add_scaled_dots, add_scaled_dots);
  RL_SET(requantize, requantize);
  RL_SET(dequantize, dequantize);
  t.loops = make_int8_loops();
#endif
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
