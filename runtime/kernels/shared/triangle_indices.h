#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Writes the rows (out[0]) and columns (out[1]) of the elements of a matrix with column <= row + offset (lower) or
// column >= row + offset, in row-major order.
void triangle_indices(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, bool lower,
                      Tensor& out);

}  // namespace rushlight
