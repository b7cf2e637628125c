#pragma once

#include "kernels/optimized/tiles/packed.h"
#include "kernels/optimized/tiles/tiles.h"

namespace rushlight::cpu {

using tiles::Epilogue;

// A block of rows times panels of a packed matrix [taps * k, n].
struct Panels {
  const tiles::Tiles* tiles;
  const float* const* rows;  // [taps, row_step]
  int64_t row_step;
  int64_t m, taps, k, n;
  const float* b;
  const float* bias;  // [n, rounded up to vectors], or null
  float* c;
  int64_t c_step;
  Epilogue epilogue;  // for c; `residual` for its first element
};

// Panels [p0, p1) of all rows.
void multiply(const Panels& product, int64_t p0, int64_t p1);

}  // namespace rushlight::cpu
