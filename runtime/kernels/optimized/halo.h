#pragma once

#include <cstdint>

#include "kernels/optimized/conv2d.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// A copy of some rows of input planes with their zero padding. It is divided into one plane per pair of phases (row and
// column modulo the strides), so that the input of each kernel tap for output (y, x) is at tap_offset + y * row + x.
struct Halo {
  int64_t phases_h, phases_w;  // numbers of phases that kernel taps read; these are the first ones
  int64_t rows;                // rows per plane, for `out_rows` output rows
  int64_t row;                 // floats between consecutive rows
  int64_t plane;               // floats per channel, for all phases
  int64_t slack;               // floats after the last plane that may be read

  Halo(const Conv2d& conv, int64_t out_rows, int64_t vector_width);

  // Returns the offset of tap (ky, kx) within a channel.
  int64_t tap_offset(const Conv2d& conv, int64_t ky, int64_t kx) const;
  // Fills the planes of a channel for the output rows [out_y, out_y + out_rows).
  void fill(const microkernels::F32Microkernels& kernels, const Conv2d& conv, const float* channel, int64_t out_y,
            float* to) const;
};

}  // namespace rushlight::optimized
