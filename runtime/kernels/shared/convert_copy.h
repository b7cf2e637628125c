#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Copies `source` to `out`, converted to out's dtype and broadcast to out's shape. All pairs of dtypes are supported.
// The conversion to bool is x != 0; the conversion from complex to real takes the real part.
void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out);

}  // namespace rushlight
