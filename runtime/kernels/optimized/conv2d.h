#pragma once

#include <cstdint>

#include "core/window.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// A two-dimensional convolution of float32. Images in row-major NCHW, weights [outputs, channels / groups, kernel_h,
// kernel_w].
struct Conv2d : Window {
  int64_t batch, channels, height, width;
  int64_t outputs, out_height, out_width;
  int64_t groups;
  const float* input;
  const float* weight;
  const float* bias;  // [outputs] or null
  float* out;
};

// False, and the failure recorded, if there is no scratch memory. Padding may be negative: rows or columns left out.
bool conv2d(KernelRuntimeContext& context, const Conv2d& conv);
// By F(2 x 2, 3 x 3), which needs 2.25 times fewer multiplications; only where suits_winograd() says so, of the shape
// and of the numbers.
bool conv2d_winograd(KernelRuntimeContext& context, const Conv2d& conv);
bool suits_winograd(const Conv2d& conv);
// Of images in NHWC; weights [outputs, kernel_h, kernel_w, channels / groups].
bool conv2d_channels_last(KernelRuntimeContext& context, const Conv2d& conv);
// The transposed convolution; weights [channels, outputs / groups, kernel_h, kernel_w].
bool conv_transpose2d(KernelRuntimeContext& context, const Conv2d& conv);

}  // namespace rushlight::optimized
