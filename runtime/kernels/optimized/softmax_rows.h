#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Computes softmax, or its logarithm, over one dim of a row-major float32 tensor. Returns false for other tensors.
bool softmax_over(KernelRuntimeContext& context, bool logarithm, const Tensor& in, int64_t dim, const Tensor& out);

}  // namespace rushlight::optimized
