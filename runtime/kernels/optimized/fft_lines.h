#pragma once

#include "kernels/shared/fft.h"

namespace rushlight::optimized {

// Transforms many float32 lines at a time, one line per vector lane. For other dtypes, for lengths with a large prime
// factor and for few long lines, it calls the portable transforms.
extern const LineTransforms kLineTransforms;

}  // namespace rushlight::optimized
