#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Copies of every matrix row r's columns [0, r + diagonal] (lower) or [r + diagonal, ...); the rest becomes zero.
void copy_triangle(KernelRuntimeContext& context, const Tensor& in, int64_t diagonal, bool lower, const Tensor& out);

}  // namespace rushlight
