#pragma once

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Computes the remainder of a / b for float32: that of the floor division if `floor`, else that of the division that
// truncates. Returns false for other dtypes.
bool float_remainder(KernelRuntimeContext& context, bool floor, const Tensor& a, const Tensor& b, const Tensor& out);
bool float_remainder(KernelRuntimeContext& context, bool floor, const Tensor& a, const Scalar& b, const Tensor& out);

}  // namespace rushlight::optimized
