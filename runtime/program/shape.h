#pragma once

#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Alignment that an element asks of its address.
constexpr size_t element_alignment(ScalarType type) {
  const size_t size = element_size(type);
  return is_complex(type) ? size / 2 : size;
}

// Null if a file may have a tensor of this type, shape and dim order, else what is wrong with it. `nbytes` is set to
// the bytes of its elements.
const char* check_shape(ScalarType type, Span<const SizesType> sizes, Span<const DimOrderType> order, size_t* nbytes);

}  // namespace rushlight
