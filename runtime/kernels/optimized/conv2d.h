#pragma once

#include <cstdint>

#include "core/window.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// A convolution of float32 images or volumes. Volumes are row-major NCDHW, weights are [outputs, channels / groups,
// kernel_d, kernel_h, kernel_w]. An image is a volume of one frame.
struct Conv2d : Window {
  int64_t kernel_d = 1, stride_d = 1, pad_d = 0, dilation_d = 1;
  int64_t batch, channels, depth, height, width;
  int64_t outputs, out_depth, out_height, out_width;
  int64_t groups;
  const float* input;
  const float* weight;
  const float* bias;  // [outputs] or null
  float* out;

  bool is_volume() const { return depth != 1 || out_depth != 1 || kernel_d != 1; }
};

// Each function returns false, and records the failure, if there is no scratch memory. conv2d() computes the
// convolution. A negative padding crops frames, rows or columns of the input.
bool conv2d(KernelRuntimeContext& context, const Conv2d& conv);
// Computes the convolution of images by F(2 x 2, 3 x 3), with 2.25 times fewer multiplications, if supports_winograd()
// allows it for the shape and the values. It does not use microkernels/winograd/f32.h, because that needs channels-last
// images and packed weights, and each call would have to create both.
bool conv2d_winograd(KernelRuntimeContext& context, const Conv2d& conv);
bool supports_winograd(const Conv2d& conv);
// Computes the convolution of NHWC images. Weights are [outputs, kernel_h, kernel_w, channels / groups].
bool conv2d_channels_last(KernelRuntimeContext& context, const Conv2d& conv);
// Computes the transposed convolution. Weights are [channels, outputs / groups, kernel_d, kernel_h,
// kernel_w].
bool conv_transpose2d(KernelRuntimeContext& context, const Conv2d& conv);

}  // namespace rushlight::optimized
