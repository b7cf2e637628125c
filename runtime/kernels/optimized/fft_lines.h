#pragma once

#include "kernels/shared/fft.h"

namespace rushlight::optimized {

// Transforms in float32 of as many lines at a time as a vector has elements. Other types, lengths with a large prime
// factor, and few long lines are left to the portable transforms.
extern const LineTransforms kLineTransforms;

}  // namespace rushlight::optimized
