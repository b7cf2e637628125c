#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight::xnnpack {

// Convert between float32 and float16 or bfloat16, rounding to nearest. `dtype` is that of `values`; it may be Float.
void to_float(ScalarType dtype, const void* values, int64_t count, float* floats);
void from_float(ScalarType dtype, const float* floats, int64_t count, void* values);

}  // namespace rushlight::xnnpack
