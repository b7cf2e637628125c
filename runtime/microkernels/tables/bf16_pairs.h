// Products of bfloat16 numbers, two at a time, summed in float32, where processors have an instruction for that.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// c as of a PanelTile, of which taps is 1, `rows` and `first` are not read, and b are pairs: [(k + 1) / 2, columns
// rounded up to vectors], the first of each in the low bits.
struct PairTile {
  const uint32_t* lhs;  // [(k + 1) / 2, rows]
  PanelTile panel;
};

struct Bf16PairMicrokernels {
  const char* name;
  // Rounds x[i][first + l] for i < rows, l < k to the LHS of a tile, to nearest, ties to even.
  void (*pack_lhs)(const float* const* x, int64_t first, int rows, int64_t k, uint32_t* to);
  // The RHS of a tile from [k, columns] numbers; columns are whole vectors.
  void (*pack_rhs)(const uint16_t* from, int64_t k, int64_t columns, uint32_t* to);
  // Of at most as many rows and vectors as the tiles of floats have.
  void (*panel)(int rows, int vectors, const PairTile& tile);
};

// What does that beside `tiles` on this machine, with panels of the same shape, or null.
const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
