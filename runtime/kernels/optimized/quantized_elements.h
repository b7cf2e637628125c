#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// The scale and zero point of a whole tensor, or of each index of an axis.
struct AffineOfParts {
  const double* scale;  // for quantization: the reciprocals of the scales
  const double* zero;
  int64_t axis = -1;  // -1: one part
};

// Convert between float32 and 8-bit tensors of the same shape. They return false if the elements along the innermost
// dim are not contiguous, or do not have the same scale.
bool quantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts,
                    int64_t least, int64_t most);
bool dequantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts);

}  // namespace rushlight::optimized
