#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Copies the columns [0, r + diagonal] (lower) or [r + diagonal, ...) of each row r of every matrix. All other elements
// of the result are zero.
void copy_triangle(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, bool lower, const Tensor& out);

}  // namespace rushlight
