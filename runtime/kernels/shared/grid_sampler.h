#pragma once

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Computes out[n, c, p...] = in[n, c] at grid[n, p..., :]. The coordinates begin with the last axis of the image, and
// -1 and 1 are the edges of the image. `interpolation` is 0 for linear, 1 for nearest, 2 for cubic (two spatial
// dimensions only). `padding` defines the values outside: 0 for zeros, 1 for the border, 2 for the reflection.
void grid_sample(KernelRuntimeContext& context, const Tensor& in, const Tensor& grid, int64_t dims,
                 int64_t interpolation, int64_t padding, bool align_corners, Tensor& out);

}  // namespace rushlight
