// Products of blocks of int16, in namespace rushlight::microkernels::RL_ISA. That namespace defines add_pairs(Ints&
// sums, Ints x, Ints y): sums += low half of x * low half of y + high half of x * high half of y.
#pragma once

#include <cmath>
#include <utility>

#include "microkernels/gemm/impl/f32_sums.h"
#include "microkernels/gemm/impl/f32_tile_shape.h"
#include "microkernels/tables/block.h"
#include "microkernels/tables/tile_parts.h"

namespace rushlight::microkernels::RL_ISA {

typedef int16_t Shorts __attribute__((vector_size(kWidth * 2)));
typedef int16_t UnalignedShorts __attribute__((vector_size(kWidth * 2), aligned(2), may_alias));

RL_INLINE Ints load_ints(const uint32_t* p) { return *reinterpret_cast<const UnalignedInts*>(p); }

// If the largest magnitude of a row is within these bounds, the norms of its blocks neither overflow nor lose
// precision.
inline constexpr float kLargest = 1e17f, kSmallest = 1e-9f;
// The smallest scale. Numbers that it rounds to 0 are below the precision of the largest number of a row.
inline constexpr float kMinScale = 1e-18f;

// Rounding the numbers of a block increases the norm by at most half the square root of their count.
inline constexpr float kNorm = static_cast<float>(kBlockNorm) - 10.0f;
static_assert(2 * kMaxBlockPairs < 4 * 10 * 10);

RL_INLINE Floats magnitude(Floats x) { return as_floats(as_ints(x) & 0x7fffffff); }

static bool quantize(const float* x, int64_t k, int64_t blocks, int64_t pairs, uint32_t* to, float* scales) {
  // x + magic rounds x, |x| < 2^22, to an integer, which is in the low bits of the sum.
  const Floats magic = splat(12582912.0f);
  float largest = 0, squares = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = 2 * pairs * block;
    const int64_t count = k - first < 2 * pairs ? k - first : 2 * pairs;
    const float* const from = x + first;
    Floats most[2] = {}, sums[2] = {};
    int64_t l = 0;
    for (; l + 2 * kWidth <= count; l += 2 * kWidth) {
      RL_UNROLL for (int i = 0; i < 2; ++i) {
        const Floats v = load(from + l + i * kWidth);
        most[i] = at_least(most[i], magnitude(v));
        sums[i] += v * v;
      }
    }
    for (; l < count; l += kWidth) {
      const Floats v = count - l >= kWidth ? load(from + l) : load_few(from + l, count - l);
      most[0] = at_least(most[0], magnitude(v));
      sums[0] += v * v;
    }
    const float block_most = across(at_least(most[0], most[1]), [](Floats a, Floats b) { return at_least(a, b); })[0];
    const float block_squares = sum(sums[0] + sums[1]);
    largest = block_most > largest ? block_most : largest;
    squares += block_squares;
    float scale = block_most * (1.0f / 32767.0f);
    const float by_norm = std::sqrt(block_squares) * (1.0f / kNorm);
    scale = by_norm > scale ? by_norm : scale;
    scale = scale > kMinScale ? scale : kMinScale;
    scales[block] = scale;
    const Floats factor = splat(1.0f / scale);
    uint32_t* const block_to = to + block * pairs;
    for (l = 0; l < 2 * pairs; l += kWidth) {
      const int64_t lhs = count - l;
      const Floats v = lhs >= kWidth ? load(from + l) : (lhs > 0 ? load_few(from + l, lhs) : Floats{});
      const Shorts few = __builtin_convertvector(as_ints(v * factor + magic), Shorts);
      if (l + kWidth <= 2 * pairs) {
        *reinterpret_cast<UnalignedShorts*>(block_to + l / 2) = few;
      } else {
        __builtin_memcpy(block_to + l / 2, &few, static_cast<size_t>(2 * pairs - l) * sizeof(int16_t));
      }
    }
  }
  // `squares` is NaN or infinite if a number is NaN or infinite.
  return squares <= kLargest * kLargest && largest <= kLargest && (largest >= kSmallest || largest == 0);
}

template <int Rows, int Vectors>
static void block_tile(const BlockTile& tile) {
  const PanelTile& t = tile.panel;
  alignas(kWidth * 4) float totals[Rows][Vectors * kWidth];
  {
    Floats start[Rows][Vectors];
    start_sums<Rows, Vectors>(start, t.bias);
    add_addend<Rows, Vectors>(start, t);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      RL_UNROLL for (int j = 0; j < Vectors; ++j) store(totals[i] + j * kWidth, start[i][j]);
    }
  }
  const uint32_t* rhs = tile.rhs;
  // Without memory to prefetch, a tile prefetches what it reads, because a second variant of it would be much code.
  const char* ahead = static_cast<const char*>(t.ahead ? t.ahead : tile.rhs);
  const int64_t ahead_step = t.ahead ? t.ahead_step : 0;
  for (int64_t block = 0; block < tile.blocks; ++block) {
    Ints acc[Rows][Vectors];
    RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) acc[i][j] = Ints{};
    const uint32_t* lhs[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) lhs[i] = tile.lhs + i * tile.lhs_step + block * tile.pairs;
    for (int64_t l = 0; l < tile.pairs; ++l, rhs += Vectors * kWidth) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
      Ints row[Vectors];
      RL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load_ints(rhs + j * kWidth);
      RL_UNROLL for (int i = 0; i < Rows; ++i) {
        const Ints x = splat_int(static_cast<int32_t>(lhs[i][l]));
        RL_UNROLL for (int j = 0; j < Vectors; ++j) add_pairs(acc[i][j], x, row[j]);
      }
    }
    const float* const rhs_scales = tile.rhs_scales + block * Vectors * kWidth;
    Floats scales[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) scales[j] = load(rhs_scales + j * kWidth);
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Floats scale = splat(tile.lhs_scales[i * tile.lhs_scale_step + block]);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) {
        float* const total = totals[i] + j * kWidth;
        store(total, load(total) + __builtin_convertvector(acc[i][j], Floats) * scales[j] * scale);
      }
    }
  }
  Floats sums[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) sums[i][j] = load(totals[i] + j * kWidth);
  }
  store_sums<Rows, Vectors>(sums, t);
}

template <int Vectors, int... I>
static void blocks_of(int rows, const BlockTile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const BlockTile&) = {&block_tile<rows_in_table<sizeof...(I)>(I + 1), Vectors>...};
  by_rows[rows - 1](tile);
}

static void block_panel(int rows, int vectors, const BlockTile& tile) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  static_assert(kTileVectors == 2);
  if (!has_tile<kTileRows>(rows)) {
    block_panel(kPartRows, vectors, tile);
    BlockTile rest = tile;
    rest.lhs += kPartRows * rest.lhs_step;
    rest.lhs_scales += kPartRows * rest.lhs_scale_step;
    rest.panel.ahead = nullptr;
    move_down(rest.panel, kPartRows);
    return block_panel(rows - kPartRows, vectors, rest);
  }
  vectors == 1 ? blocks_of<1>(rows, tile, Rows{}) : blocks_of<2>(rows, tile, Rows{});
}

static constexpr BlockMicrokernels make_block_table(const char* name) { return {name, &quantize, &block_panel}; }

}  // namespace rushlight::microkernels::RL_ISA
