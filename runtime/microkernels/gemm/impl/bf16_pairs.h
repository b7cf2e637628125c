// Products of pairs of bfloat16 numbers, in namespace rushlight::microkernels::RL_ISA. That namespace defines
// add_pairs(Floats& sums, Words x, Words y): sums += low half of x * low half of y + high half of x * high half of y.
#pragma once

#include <utility>

#include "microkernels/gemm/impl/f32_sums.h"
#include "microkernels/gemm/impl/f32_tile_shape.h"
#include "microkernels/simd/f16_types.h"
#include "microkernels/tables/bf16_pairs.h"

namespace rushlight::microkernels::RL_ISA {

RL_INLINE Words load_words(const uint32_t* p) { return *reinterpret_cast<const UnalignedWords*>(p); }
RL_INLINE void store_words(uint32_t* p, Words v) { *reinterpret_cast<UnalignedWords*>(p) = v; }

static void pack_lhs(const float* const* x, int64_t first, int rows, int64_t k, uint32_t* to) {
  for (int i = 0; i < rows; ++i) {
    const float* const from = x[i] + first;
    for (int64_t l = 0; l < k; l += kWidth) {
      const int64_t lhs = k - l;
      const Shorts few = BFloat16Bits::narrow(lhs >= kWidth ? load(from + l) : load_few(from + l, lhs));
      uint32_t pairs[kWidth / 2];
      __builtin_memcpy(pairs, &few, sizeof(few));
      const int64_t count = lhs >= kWidth ? kWidth / 2 : (lhs + 1) / 2;
      for (int64_t j = 0; j < count; ++j) to[(l / 2 + j) * rows + i] = pairs[j];
    }
  }
}

static void pack_rhs(const uint16_t* from, int64_t k, int64_t columns, uint32_t* to) {
  for (int64_t l = 0; l < k; l += 2, from += 2 * columns, to += columns) {
    for (int64_t j = 0; j < columns; j += kWidth) {
      const Words low = BFloat16Bits::words(load_shorts(from + j));
      const Words high = l + 1 < k ? BFloat16Bits::words(load_shorts(from + columns + j)) << 16 : Words{};
      store_words(to + j, low | high);
    }
  }
}

template <int Rows, int Vectors>
static void pair_tile(const PairTile& tile) {
  const PanelTile& t = tile.panel;
  Floats acc[Rows][Vectors];
  start_sums<Rows, Vectors>(acc, t.bias);
  add_addend<Rows, Vectors>(acc, t);
  const uint32_t* lhs = tile.lhs;
  const uint32_t* rhs = static_cast<const uint32_t*>(t.b);
  for (int64_t l = 0; l < t.k; l += 2, lhs += Rows, rhs += Vectors * kWidth) {
    Words row[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load_words(rhs + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Words x = lhs[i] - Words{};
      RL_UNROLL for (int j = 0; j < Vectors; ++j) add_pairs(acc[i][j], x, row[j]);
    }
  }
  store_sums<Rows, Vectors>(acc, t);
}

template <int Vectors, int... I>
static void pairs_of(int rows, const PairTile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const PairTile&) = {&pair_tile<I + 1, Vectors>...};
  by_rows[rows - 1](tile);
}

static void pair_panel(int rows, int vectors, const PairTile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  static_assert(kTileVectors == 2);
  vectors == 1 ? pairs_of<1>(rows, tile, Rows{}) : pairs_of<2>(rows, tile, Rows{});
}

static constexpr Bf16PairMicrokernels make_bf16_pair_table(const char* name) {
  return {name, kTileRows, kTileRows + 1, &pack_lhs, &pack_rhs, &pair_panel, nullptr};
}

}  // namespace rushlight::microkernels::RL_ISA
