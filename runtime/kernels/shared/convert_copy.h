#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// out = source, converted to out's dtype and broadcast to out's shape. Any two dtypes; float to bool is != 0, complex
// to real takes the real part.
void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out);

}  // namespace rushlight
