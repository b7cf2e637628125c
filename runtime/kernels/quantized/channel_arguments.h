#pragma once

#include <cstdint>

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

// `axis` to [0, rank); the failure recorded if it is out of range or the scales or zero points (or null) are not one
// for each index of that axis.
bool channel_axis(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, const Tensor* zero_points,
                  int64_t* axis);

// The failure recorded unless there is one scale and one zero point (or null) for each of `parts` parts.
bool require_parts(KernelRuntimeContext& context, int64_t parts, const Tensor& scales, const Tensor* zero_points);

// The length of the groups into which rows of a matrix are divided; 0 and the failure recorded where it does not fit.
// A single group may be said to be longer than the row.
int64_t group_length(KernelRuntimeContext& context, const Tensor& in, const Tensor& scales, int64_t group_size);

}  // namespace rushlight::quantized
