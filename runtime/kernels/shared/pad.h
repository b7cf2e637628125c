#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class PadMode { Reflect, Replicate };

// Pads the last `dims` dimensions with elements of the tensor itself. `padding` has (before, after) of the last
// dimension, then of the one before it, and so on; negative widths crop. `in` has one or two dimensions more.
void pad_with_own(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, int64_t dims,
                  PadMode mode, Tensor& out);

}  // namespace rushlight
