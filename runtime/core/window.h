// The window of a convolution or pooling that moves over an image. Kernels, microkernels and backends share this
// description. Positions beyond the edges of the image count as zeros; a maximum ignores them.
#pragma once

#include <cstdint>

namespace rushlight {

// A window over height and width. The pads are above the first row and left of the first column.
struct Window {
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;

  int64_t taps() const { return kernel_h * kernel_w; }
};

// A window over up to three spatial dims: depth, height, width. Dims that the tensor does not have come first and have
// neutral values.
struct Window3d {
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Returns the height and width of a window whose depth is neutral.
inline Window planar(const Window3d& w) {
  return {w.kernel[1], w.kernel[2], w.stride[1], w.stride[2], w.padding[1], w.padding[2], w.dilation[1], w.dilation[2]};
}
inline Window3d with_depth(const Window& w) {
  return {
      {1, w.kernel_h, w.kernel_w}, {1, w.stride_h, w.stride_w}, {0, w.pad_h, w.pad_w}, {1, w.dilation_h, w.dilation_w}};
}

}  // namespace rushlight
