#pragma once

#include "kernels/shared/axes.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

inline bool is_float(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Float; }

template <typename... Tensors>
bool all_float(const Tensors&... tensors) {
  return (is_float(tensors) && ...);
}

// Whether a tensor is float32 in row-major order.
inline bool is_row_major_float(const Tensor& tensor) { return is_float(tensor) && is_row_major(tensor); }

// Whether the elements of [N, C, H, W] have the order N, H, W, C. The strides of axes of size 1 are ignored.
inline bool is_channels_last(const Tensor& tensor) {
  if (tensor.dim() != 4) return false;
  int64_t expected = 1;
  for (const int64_t axis : {1, 3, 2, 0}) {
    if (tensor.size(axis) != 1 && tensor.stride(axis) != expected) return false;
    expected *= tensor.size(axis);
  }
  return true;
}

}  // namespace rushlight::optimized
