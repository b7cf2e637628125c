// Tiles over bytes for one instruction set, in namespace rushlight::tiles::RL_TILES_ISA. Before this is included that
// namespace has
//   kLanes, kGroup, kTileRows, kTileVectors, kLeftOffset
//   Left         a number of the left operand: int8_t, uint8_t or int16_t
//   Sums         a vector of kLanes int32_t
//   Right        a vector of kLanes * kGroup numbers: Right load_right(const int8_t*)
//   Spread       kGroup numbers of the left operand in every lane: Spread spread(const Left*)
//   void add_products(Sums&, Spread, Right)
//   Line         a vector of kLanes * kGroup numbers of the left operand: Line load_line(const Left*)
//   void add_lines(Sums&, Line, Right)
//   kDotRows     most rows that share columns as they lie
// and what byte_rows.h asks for. With RL_TILES_OWN_TILE it has byte_tile() and kDotStep, the numbers of a Line,
// instead of Spread.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/byte_channels.h"
#include "kernels/optimized/tiles/impl/byte_dots.h"
#include "kernels/optimized/tiles/impl/byte_elements.h"
#include "kernels/optimized/tiles/impl/byte_loops.h"
#include "kernels/optimized/tiles/impl/byte_nibbles.h"
#include "kernels/optimized/tiles/impl/byte_rows.h"
#include "kernels/optimized/tiles/impl/byte_scaled.h"
#include "kernels/optimized/tiles/impl/inline.h"
#if !defined(RL_TILES_OWN_TILE)
#include "kernels/optimized/tiles/impl/byte_sums.h"
#endif

namespace rushlight::tiles::RL_TILES_ISA {

#if defined(RL_TILES_OWN_TILE)
template <int Vectors, int... I>
static void byte_gemm_of(int rows, const ByteTile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const ByteTile&) = {&byte_tile<I + 1, Vectors>...};
  by_rows[rows - 1](tile);
}

static void byte_gemm(int rows, int vectors, const ByteTile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (vectors == 1) return byte_gemm_of<1>(rows, tile, Rows{});
  return byte_gemm_of<2>(rows, tile, Rows{});
}
#else
static void byte_gemm(int rows, int vectors, const ByteTile& tile) { sums_of(rows, vectors, tile); }
#endif

static void pack_left(const uint8_t* from, uint8_t flip, int64_t n, void* to) {
  Left* const left = static_cast<Left*>(to);
  if constexpr (sizeof(Left) == 1) {
    const uint8_t change = static_cast<uint8_t>(flip ^ kLeftOffset);
    if (change == 0) {
      std::memcpy(left, from, static_cast<size_t>(n));
    } else {
      for (int64_t i = 0; i < n; ++i) left[i] = static_cast<Left>(from[i] ^ change);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) left[i] = static_cast<int8_t>(from[i] ^ flip);
  }
}

static void fill_left(int8_t value, int64_t n, void* to) {
  Left* const left = static_cast<Left*>(to);
  for (int64_t i = 0; i < n; ++i) left[i] = static_cast<Left>(value + kLeftOffset);
}

static constexpr ByteTiles make_byte_tiles(const char* name) {
  ByteTiles t{};
  t.name = name;
  t.lanes = kLanes;
  t.rows = kTileRows;
  t.vectors = kTileVectors;
  t.group = kGroup;
  t.dot_step = kDotStep;
  t.left_size = sizeof(Left);
  t.left_offset = kLeftOffset;
  t.pack_left = &pack_left;
  t.fill_left = &fill_left;
  t.gemm = &byte_gemm;
  t.dots = &dots;
  t.channel_sums = &channel_sums;
  t.quantize_bytes = &quantize_bytes;
  t.dequantize_bytes = &dequantize_bytes;
  t.dequantize_nibbles = &dequantize_nibbles;
  t.extremes = &extremes;
  t.combine_bytes = &combine_bytes;
  t.nibble_offset = kNibbleOffset;
  t.pack_nibble_left = &pack_nibble_left;
  t.nibble_dots = &nibble_dots;
  t.scaled_dots = &scaled_dots;
  t.requantize = &requantize;
  t.dequantize = &dequantize;
  t.loops = make_byte_loops();
  return t;
}

}  // namespace rushlight::tiles::RL_TILES_ISA
