// Products of bfloat16 numbers, two at a time, with float32 sums, for processors that have an instruction for this.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// Computes c as PanelTile describes, with taps = 1. PanelTile's `rows` and `first` are not used. Its `b` contains pairs
// of numbers, [(k + 1) / 2, columns rounded up to vectors]. The first number of a pair is in the low bits.
struct PairTile {
  const uint32_t* lhs;  // [(k + 1) / 2, rows]
  PanelTile panel;
};

struct Bf16PairMicrokernels {
  const char* name;
  // Packs x[i][first + l], i < rows, l < k, as the LHS of a tile, rounded to nearest, ties to even.
  void (*pack_lhs)(const float* const* x, int64_t first, int rows, int64_t k, uint32_t* to);
  // Packs numbers [k, columns] as the RHS of a tile. `columns` is a multiple of the vector width.
  void (*pack_rhs)(const uint16_t* from, int64_t k, int64_t columns, uint32_t* to);
  // Computes a tile. It has at most as many rows and vectors as a float32 tile.
  void (*panel)(int rows, int vectors, const PairTile& tile);
};

// Returns the bfloat16 table whose panels have the same shape as those of `kernels`, or null if this machine has no
// such table.
const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
