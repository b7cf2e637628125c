#pragma once

#include <cstdint>

#include "kernels/optimized/conv2d.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// A copy of some rows of input planes with their zero padding, divided into one plane for each pair of phases (row and
// column modulo the strides), so that the input of every kernel tap for outputs (y, x) lies at
// tap_offset + y * row + x.
struct Halo {
  int64_t phases_h, phases_w;  // phases that taps touch: the first of each stride
  int64_t rows;                // in a plane, for `out_rows` rows of output
  int64_t row;                 // floats from row to row
  int64_t plane;               // floats of a channel: all its phases
  int64_t slack;               // floats that may be read beyond the last plane

  Halo(const Conv2d& conv, int64_t out_rows, int64_t vector_width);

  // Of tap (ky, kx) within a channel.
  int64_t tap_offset(const Conv2d& conv, int64_t ky, int64_t kx) const;
  // Fills a channel's planes for the outputs of rows [out_y, out_y + out_rows).
  void fill(const microkernels::F32Microkernels& kernels, const Conv2d& conv, const float* channel, int64_t out_y,
            float* to) const;
};

}  // namespace rushlight::optimized
