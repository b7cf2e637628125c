#pragma once

#include "kernels/shared/fft.h"

namespace rushlight::optimized {

// float32 transforms of many lines at a time, one line per vector lane. Other dtypes, lengths with a large prime
// factor, and few long lines use the portable transforms.
extern const LineTransforms kLineTransforms;

}  // namespace rushlight::optimized
