// Products of bfloat16 numbers, two at a time, with float32 sums, for processors that have an instruction for this.
#pragma once

#include <cstdint>

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// The shapes of the tile registers of a matrix unit. The unit takes long to change them.
struct PairTileShapes {
  int rows = 0;  // rows of a tile; 0: no shapes are set
  int64_t pairs = 0;
};

// Computes c as PanelTile describes, with taps = 1. PanelTile's `rows` and `first` are not used. Its `b` contains pairs
// of numbers, [(k + 1) / 2, columns rounded up to vectors]. The first number of a pair is in the low bits.
struct PairTile {
  const uint32_t* lhs;  // as pack_lhs() wrote it
  PanelTile panel;
  PairTileShapes* shapes;  // for a table with release(): the shapes that tile registers have and keep
};

struct Bf16PairMicrokernels {
  const char* name;
  int rows;        // the maximum number of rows of a tile
  int least_rows;  // products of fewer rows are faster with weights that are converted to float32 in registers
  // Packs x[i][first + l], i < rows, l < k, as the LHS of a tile, rounded to nearest, ties to even. It writes up to
  // rows * padded_pairs(k) words.
  void (*pack_lhs)(const float* const* x, int64_t first, int rows, int64_t k, uint32_t* to);
  // Packs numbers [k, columns] as the RHS of a tile. `columns` is a multiple of the vector width.
  void (*pack_rhs)(const uint16_t* from, int64_t k, int64_t columns, uint32_t* to);
  // Computes a tile. It has at most as many vectors as a float32 tile.
  void (*panel)(int rows, int vectors, const PairTile& tile);
  // Only for tables of a matrix unit, or null. Clears the tile registers and their shapes.
  void (*release)();
};

// The words of a row of the LHS: its pairs, and zeros after them.
inline int64_t padded_pairs(int64_t k) { return (k + 31) / 32 * 16; }

// Returns the bfloat16 table whose panels have the same shape as those of `kernels`, or null if this machine has no
// such table, or multiplies float32 numbers faster.
const Bf16PairMicrokernels* bf16_pair_microkernels(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
