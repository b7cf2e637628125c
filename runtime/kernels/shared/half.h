// Converts arrays of float16 and bfloat16, with instructions of the processor if available.
#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight {

// widen_*() convert n numbers to float, narrow_*() convert n floats. The arrays must not overlap.
void widen_half(const Half* from, float* to, int64_t n);
// Round to nearest, ties to even.
void narrow_half(const float* from, Half* to, int64_t n);
void widen_bfloat16(const BFloat16* from, float* to, int64_t n);
void narrow_bfloat16(const float* from, BFloat16* to, int64_t n);
// Rounds n values to float16 or bfloat16, in place.
void round_half(float* values, int64_t n);
void round_bfloat16(float* values, int64_t n);

}  // namespace rushlight
