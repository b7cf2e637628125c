// GEMMs with packed matrices for processors whose execution units are half as wide as their vectors (Zen 4).
#pragma once

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// In each cycle, such a processor loads and multiplies one whole vector or two halves. A tile that is one vector wide
// needs one load of the LHS for each multiplication, so that the loads limit its speed. Halves also skip the padding of
// a panel.
struct F32HalfMicrokernels {
  int width;  // number of floats in half a vector
  // The maximum number of rows of a tile that is two whole vectors wide. Small tiles overlap in the pipeline, and all
  // row addresses stay in registers. Weights are read more often, but these processors do so without delay.
  int whole_rows;
  int rows[3];  // rows[h - 1]: maximum number of rows of a tile of h halves
  // As F32PackedMicrokernels::panel(), for the first `halves` halves of a panel, with bit-equal results. 1 <= halves <=
  // 3, 1 <= rows <= rows[halves - 1].
  void (*panel)(int rows, int halves, const PanelTile& tile);
};

// Returns the table for this processor. Returns null if the execution units are as wide as the vectors, if there is no
// such table for `kernels`, or in a build for small size.
const F32HalfMicrokernels* f32_half_microkernels(const F32Microkernels& kernels);
// Returns the table for any processor that can run `kernels`, or null.
const F32HalfMicrokernels* f32_half_microkernels_of(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
