// The arguments of kernels as the loops for microcontrollers take them.
#pragma once

#include <algorithm>

#include "core/window.h"
#include "kernels/shared/window.h"
#include "microkernels/cortex_m/int8.h"

namespace rushlight {

namespace cortex_m = microkernels::cortex_m;

// Returns the shape of a tensor with `dims` spatial dimensions, 1 or 2.
cortex_m::ImageShape cortex_m_shape(const Tensor& tensor, int64_t dims);

// Returns false if the window is not flat, or so large that places in it could overflow.
bool cortex_m_window(const Window3d& w, cortex_m::ImageWindow* window);

// A byte of the tensor XOR this is int8.
inline uint8_t cortex_m_flip(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0; }

// Takes the zero point of the tensor for bytes as int8 numbers. Returns false if it is none.
inline bool cortex_m_zero(const Tensor& tensor, int64_t zero, int32_t* result) {
  const int64_t shifted = zero - cortex_m_flip(tensor);
  *result = static_cast<int32_t>(shifted);
  return shifted >= -128 && shifted <= 127;
}

// Whether the elements of two tensors of one shape have the same order in memory.
inline bool have_one_layout(const Tensor& a, const Tensor& b) {
  const Span<const DimOrderType> x = a.dim_order(), y = b.dim_order();
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace rushlight
