#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Copies `source` to `out`, converted to out's dtype and broadcast to out's shape. All pairs of dtypes are possible: a
// number becomes a bool by != 0, and a complex number becomes real by its real part.
void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out);

}  // namespace rushlight
