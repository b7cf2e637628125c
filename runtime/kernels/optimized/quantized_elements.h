#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Scale and zero point of each part of a tensor: of the whole, or of each index of an axis.
struct AffineOfParts {
  const double* scale;  // to quantize, the reciprocals
  const double* zero;
  int64_t axis = -1;  // -1: one part
};

// Between float32 and bytes; the tensors have one shape. False where elements along the innermost dim are not adjacent
// or not of one part.
bool quantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts,
                    int64_t least, int64_t most);
bool dequantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out, const AffineOfParts& parts);

}  // namespace rushlight::optimized
