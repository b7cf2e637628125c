#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// out[n, c, p...] = in[n, c] at grid[n, p..., :], whose coordinates (the last axis of the image first) run from -1 to 1
// over the image. `interpolation`: 0 linear, 1 nearest, 2 cubic (two spatial dims only); `padding`: what lies outside,
// 0 zeros, 1 the border, 2 the reflection.
void grid_sample(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid, int64_t dims,
                 int64_t interpolation, int64_t padding, bool align_corners, Tensor& out);

}  // namespace rushlight
