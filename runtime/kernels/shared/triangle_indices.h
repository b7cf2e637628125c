#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// out[0] and out[1]: rows and columns, in row-major order, of a matrix's elements whose column is at most (lower) or at
// least row + offset.
void triangle_indices(KernelRuntimeContext& context, int64_t rows, int64_t columns, int64_t offset, bool lower,
                      Tensor& out);

}  // namespace rushlight
