// GEMMs in block floating point, for processors that multiply int16 faster than float32. Numbers are int16, with one
// scale for each block. Sums are exact int32 within a block, and float32 across blocks.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// Numbers are stored in pairs. The first number of a pair is in the low bits. Each block of the LHS and of the RHS has
// a Euclidean norm of at most kBlockNorm, so that no sum of products overflows (Cauchy-Schwarz inequality).
inline constexpr int64_t kBlockNorm = 46340;
inline constexpr int64_t kMaxBlockPairs = 96;

// Computes c as PanelTile describes. PanelTile's `rows`, `row_step`, `first`, `taps`, `k` and `b` are not used.
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
  // Converts k floats to numbers [blocks, pairs] and scales [blocks], and fills the last block with zeros. Returns
  // false if a float is not finite, too large or too small. The output is then undefined.
  bool (*quantize)(const float* x, int64_t k, int64_t blocks, int64_t pairs, uint32_t* to, float* scales);
  // Computes a tile. It has at most as many rows and vectors as a float32 tile. Rows do not influence each other.
  void (*panel)(int rows, int vectors, const BlockTile& tile);
};

// Returns the block table whose panels have the same shape as those of `kernels`, or null if this machine has no such
// table.
const BlockMicrokernels* block_microkernels(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
