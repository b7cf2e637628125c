#pragma once

#include "kernels/quantized/dynamic.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Does the same as quantized::quantize_rows() for a row-major float32 tensor with at least one number per row.
bool quantize_dynamic_rows(KernelRuntimeContext& context, const Tensor& in, const quantized::DynamicRange& range,
                           quantized::DynamicRows* result);

}  // namespace rushlight::optimized
