// Products of numbers that are int16 with a scale for each block of them (block floating point), summed exactly in
// int32 within a block and in float32 from block to block, where processors multiply int16 faster than float32.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// Numbers lie in pairs, the first of each in the low bits. The numbers of a block, and those of the column that they
// meet, have a norm of at most kBlockNorm each, so that no sum of products overflows (Cauchy and Schwarz).
inline constexpr int64_t kBlockNorm = 46340;
inline constexpr int64_t kMostBlockPairs = 96;

// c as of a PanelTile, of which `rows`, `row_step`, `first`, `taps`, `k` and `b` are not read.
struct BlockTile {
  const uint32_t* lhs;  // rows of [blocks, pairs], lhs_step apart
  int64_t lhs_step;
  const float* lhs_scales;  // rows of [blocks], lhs_scale_step apart
  int64_t lhs_scale_step;
  const uint32_t* rhs;      // [blocks, pairs, columns rounded up to vectors]
  const float* rhs_scales;  // [blocks, columns rounded up to vectors]
  int64_t blocks, pairs;
  PanelTile panel;
};

struct BlockMicrokernels {
  const char* name;
  // k numbers to [blocks, pairs] and [blocks], behind them zeros. False if they are not finite, or too large or too
  // small for this: then what is written has no meaning.
  bool (*quantize)(const float* x, int64_t k, int64_t blocks, int64_t pairs, uint32_t* to, float* scales);
  // Of at most as many rows and vectors as the tiles of floats have. A row's results do not depend on the others.
  void (*panel)(int rows, int vectors, const BlockTile& tile);
};

// What does that beside `tiles` on this machine, with panels of the same shape, or null.
const BlockMicrokernels* block_microkernels(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
