// Products with packed matrices for processors whose execution units are half as wide as their vectors (Zen 4).
#pragma once

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// Such a processor loads and multiplies one whole vector, or two halves, in a cycle. A tile that is one vector wide
// needs one load of the LHS for each multiplication, and is limited by loads. Halves also skip the padding of a panel.
struct F32HalfMicrokernels {
  int width;  // floats in half a vector
  // Most rows of a tile that is two whole vectors wide. Small tiles overlap in the pipeline, and all row addresses stay
  // in registers. Weights are read more often, which these processors do without delay.
  int whole_rows;
  int rows[3];  // rows[h - 1]: most rows of a tile of h halves
  // As F32PackedMicrokernels::panel(), for the first `halves` halves of a panel; 1 <= halves <= 3, 1 <= rows <=
  // rows[halves - 1]. Results are bit-equal.
  void (*panel)(int rows, int halves, const PanelTile& tile);
};

// Returns the table for this processor. It is null if the execution units are as wide as the vectors, if `kernels` has
// no such table, or in a build for small size.
const F32HalfMicrokernels* f32_half_microkernels(const F32Microkernels& kernels);
// Returns the table for any processor that can run `kernels`, or null.
const F32HalfMicrokernels* f32_half_microkernels_of(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
