#pragma once

#include <cstdint>

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

// Converts `axis` to [0, rank). Records the failure if the axis is out of range, or if scales or zero points (or null)
// do not have one element for each index of that axis.
bool channel_axis(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, const Tensor* zero_points,
                  int64_t* axis);

// Records the failure unless there is one scale and one zero point (or null) for each of `parts` parts.
bool require_parts(KernelRuntimeContext& context, int64_t parts, const Tensor& scales, const Tensor* zero_points);

// Returns the length of the groups that divide the rows of a matrix. If it is invalid, records the failure and returns
// 0. A single group may be declared longer than the row.
int64_t group_length(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, int64_t group_size);

}  // namespace rushlight::quantized
