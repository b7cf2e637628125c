#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight::xnnpack {

// Convert `count` numbers between float32 and `dtype` (Half, BFloat16 or Float), rounding to nearest. `values` has
// elements of `dtype`.
void to_float(ScalarType dtype, const void* values, int64_t count, float* floats);
void from_float(ScalarType dtype, const float* floats, int64_t count, void* values);

}  // namespace rushlight::xnnpack
