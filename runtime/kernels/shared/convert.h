#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight {

// Converts n elements. Strides are in elements. The ranges must not overlap, but may be equal if the strides and the
// element sizes are equal.
using Convert = void (*)(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n);

// Returns the function that converts from a dtype to a compute type (see compute_type), or null if there is none. The
// conversion from complex to real drops the imaginary part.
Convert load_function(ScalarType stored, ScalarType compute);
// Returns the function that converts from a compute type or Bool to a dtype. A number outside the range of an integer
// dtype gives an unspecified value.
Convert store_function(ScalarType compute, ScalarType stored);

// Returns whether a conversion from `stored` to `common` can change values; both have the same compute type.
bool narrows(ScalarType stored, ScalarType common);
// Rounds and limits n values to the precision and range of `common`. The values are in the compute type of `common`.
void narrow_to(ScalarType common, void* values, int64_t n);

}  // namespace rushlight
