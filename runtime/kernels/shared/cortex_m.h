// Converts the arguments of kernels to the argument structs of the loops for microcontrollers.
#pragma once

#include <algorithm>

#include "core/window.h"
#include "kernels/shared/window.h"
#include "microkernels/cortex_m/int8.h"

namespace rushlight {

namespace cortex_m = microkernels::cortex_m;

// Sets the shape of a tensor with `dims` spatial dimensions, 1 or 2.
void cortex_m_shape(const Tensor& tensor, int64_t dims, cortex_m::ImageShape* shape);

// Converts a window of numbers from 0 to 2^31 - 1. Returns false if it has a third dimension, or if its positions could
// overflow.
bool cortex_m_window(const Window3d& w, cortex_m::ImageWindow* window);

// Returns the mask that converts bytes of the tensor to int8 by XOR.
inline uint8_t cortex_m_sign_mask(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0; }

// Converts the zero point of the tensor to int8 form. Returns false if it is out of range.
inline bool cortex_m_zero(const Tensor& tensor, int64_t zero, int32_t* result) {
  const int64_t shifted = zero - cortex_m_sign_mask(tensor);
  *result = static_cast<int32_t>(shifted);
  return shifted >= -128 && shifted <= 127;
}

// Returns whether the elements of two tensors of the same shape have the same order in memory.
inline bool same_dim_order(const Tensor& a, const Tensor& b) {
  const Span<const DimOrderType> x = a.dim_order(), y = b.dim_order();
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace rushlight
