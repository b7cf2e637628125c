#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

inline constexpr size_t kMaxElementSize = 16;

// Writes the number as an element of `type`, converted as C++ converts it, to `element`.
void store_number(const Scalar& number, ScalarType type, void* element);

// Writes one element's bytes to `count` consecutive ones.
void fill_elements(KernelRuntimeContext& context, void* dst, int64_t count, const void* element, size_t element_size);

// All elements become `number`.
void fill_tensor(KernelRuntimeContext& context, const Tensor& out, const Scalar& number);

}  // namespace rushlight
