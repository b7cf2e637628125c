#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// The scale and zero point of a whole tensor, or of each index of an axis.
struct AxisParameters {
  const double* scale;  // for quantization: the reciprocals of the scales
  const double* zero;
  int64_t axis = -1;  // -1: the whole tensor
};

// Convert between float32 and 8-bit tensors of the same shape. They return false if the elements along the innermost
// dim are not contiguous, or do not have the same scale.
bool quantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out,
                    const AxisParameters& parameters, int64_t quant_min, int64_t quant_max);
bool dequantize_parts(KernelRuntimeContext& context, const Tensor& in, const Tensor& out,
                      const AxisParameters& parameters);

}  // namespace rushlight::optimized
