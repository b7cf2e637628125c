#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

inline constexpr size_t kMaxElementSize = 16;

// Converts the number to `type` by the rules of C++ and writes it to `element`.
void store_number(const Scalar& number, ScalarType type, void* element);

// Writes the bytes of one element to `count` consecutive elements.
void fill_elements(KernelRuntimeContext& context, void* dst, int64_t count, const void* element, size_t element_size);

// Sets all elements to `number`.
void fill_tensor(KernelRuntimeContext& context, const Tensor& out, const Scalar& number);

}  // namespace rushlight
