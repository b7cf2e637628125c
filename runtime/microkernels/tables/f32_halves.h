// Products with packed matrices for processors whose vectors pass units of half their length.
#pragma once

#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

// Such a processor loads one whole vector at a time and multiplies one, but two halves: a tile one vector wide, which
// loads a number of the LHS for each multiplication, waits for loads. Halves also leave out columns that a panel lacks.
struct F32HalfMicrokernels {
  int width;  // floats in a half
  // Rows of a tile of two whole vectors at most: the next tile begins before the last is stored if both are small, and
  // all addresses of rows have registers. Weights are read more often, for which these processors have time.
  int whole_rows;
  int rows[3];  // of a tile of so many halves and one, at most
  // F32PackedMicrokernels::panel() over the first `halves` halves of a panel; 1 <= halves <= 3, 1 <= rows <=
  // rows[halves - 1]. Results have the same bits.
  void (*panel)(int rows, int halves, const PanelTile& tile);
};

// Returns null where the processor has whole units, `kernels` have no halves, or the build is to be small.
const F32HalfMicrokernels* f32_half_microkernels(const F32Microkernels& kernels);
// The same on any processor that runs `kernels`.
const F32HalfMicrokernels* f32_half_microkernels_of(const F32Microkernels& kernels);

}  // namespace rushlight::microkernels
