#pragma once

#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Returns the alignment of an element in bytes.
constexpr size_t element_alignment(ScalarType type) {
  const size_t size = element_size(type);
  return is_complex(type) ? size / 2 : size;
}

// Checks the type, shape and dim order of a tensor in a file. Returns null if they are valid, else the reason. `nbytes`
// is set to the bytes of its elements.
const char* check_shape(ScalarType type, Span<const SizesType> sizes, Span<const DimOrderType> order, size_t* nbytes);

}  // namespace rushlight
