#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

enum class PadMode { Reflect, Replicate };

// Pads the last `dims` dimensions with reflected or repeated elements of `in`. `padding` has (before, after) for the
// last dimension first, then for the second last one, and so on; negative widths crop. `in` has one or two more
// dimensions.
void pad_with_input_elements(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, int64_t dims,
                             PadMode mode, Tensor& out);

}  // namespace rushlight
