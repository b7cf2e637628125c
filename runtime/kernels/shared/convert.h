#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight {

// Converts n elements, `stride` elements apart. The ranges must not overlap, but may be the same one if the strides
// and the sizes of the elements are equal.
using Convert = void (*)(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n);

// From an element type to a compute type (see compute_type); null where there is none. A complex number loses its
// imaginary part in a real type.
Convert load_function(ScalarType stored, ScalarType compute);
// From a compute type or Bool to an element type. Numbers beyond an integer type's range give an unspecified value.
Convert store_function(ScalarType compute, ScalarType stored);

// Whether values of `stored` may change when `common`, which has the same compute type, holds them.
bool narrows(ScalarType stored, ScalarType common);
// Gives n values in the compute type of `common` the range and precision of `common`.
void narrow_to(ScalarType common, void* values, int64_t n);

}  // namespace rushlight
