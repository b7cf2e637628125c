#pragma once

#include "kernels/quantized/dynamic.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// quantized::quantize_rows() of a float32 tensor in row-major order, with rows of at least one number.
bool quantize_dynamic_rows(KernelRuntimeContext& context, const Tensor& in, const quantized::DynamicRange& range,
                           quantized::DynamicRows* result);

}  // namespace rushlight::optimized
