#pragma once

#include <cstdint>

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

// Converts `axis` to [0, rank). Records the failure if the axis is out of range, or if `scales` or `zero_points` (may
// be null) does not have one element for each index of the axis.
bool channel_axis(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, const Tensor* zero_points,
                  int64_t* axis);

// Records the failure unless there are `parts` scales and `parts` zero points (zero points may be null).
bool require_parts(KernelRuntimeContext& context, int64_t parts, const Tensor& scales, const Tensor* zero_points);

// Returns the length of the groups into which the rows of a matrix are divided. If it is invalid, records the failure
// and returns 0. If there is only one group, its declared length may exceed the row.
int64_t group_length(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, int64_t group_size);

}  // namespace rushlight::quantized
