#pragma once

#include "kernels/shared/axes.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

inline bool is_float(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Float; }

template <typename... Tensors>
bool all_float(const Tensors&... tensors) {
  return (is_float(tensors) && ...);
}

// float32 in row-major order.
inline bool is_plain(const Tensor& tensor) { return is_float(tensor) && is_row_major(tensor); }

}  // namespace rushlight::optimized
