#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight {

// Converts n elements, `stride` elements apart. The ranges must not overlap, but may be the same one if the strides
// and the sizes of the elements are equal.
using Convert = void (*)(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n);

// Returns the function that converts from a dtype to a compute type (see compute_type), or null if there is none. A
// complex number loses its imaginary part if the compute type is real.
Convert load_function(ScalarType stored, ScalarType compute);
// Returns the function that converts from a compute type or Bool to a dtype. A number out of the range of an integer
// type gives an unspecified value.
Convert store_function(ScalarType compute, ScalarType stored);

// Returns whether values of `stored` may change when `common`, which has the same compute type, holds them.
bool narrows(ScalarType stored, ScalarType common);
// Converts n values in the compute type of `common` to the range and precision of `common`.
void narrow_to(ScalarType common, void* values, int64_t n);

}  // namespace rushlight
