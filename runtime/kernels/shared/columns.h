#pragma once

#include "kernels/shared/window.h"

namespace rushlight {

// The windows of a two-dimensional image. Each window is a column of the im2col matrix.
struct Columns {
  Window3d window;
  int64_t count[2] = {0, 0};  // windows along height and width
  int64_t positions() const { return count[0] * count[1]; }
};

inline bool read_columns(KernelRuntimeContext& context, int64_t height, int64_t width, Span<const int64_t> kernel,
                         Span<const int64_t> dilation, Span<const int64_t> padding, Span<const int64_t> stride,
                         Columns* columns) {
  Window3d& w = columns->window;
  if (!read_window_field(context, "kernel_size", kernel, 2, 1, w.kernel) ||
      !read_window_field(context, "dilation", dilation, 2, 1, w.dilation) ||
      !read_window_field(context, "padding", padding, 2, 0, w.padding) ||
      !read_window_field(context, "stride", stride, 2, 1, w.stride)) {
    return false;
  }
  const int64_t sizes[] = {height, width};
  for (int i = 0; i < 2; ++i) {
    columns->count[i] = sizes[i] < 0 || sizes[i] > INT32_MAX ? 0
                                                             : pooled_size(sizes[i], w.kernel[i + 1], w.stride[i + 1],
                                                                           w.padding[i + 1], w.dilation[i + 1], false);
    if (columns->count[i] <= 0) {
      context.fail(Error::InvalidArgument, "a window of size %lld does not fit into an image of size %lld",
                   static_cast<long long>(w.kernel[i + 1]), static_cast<long long>(sizes[i]));
      return false;
    }
  }
  return true;
}

// Calls body(offset in the image or -1 for padding, offset in `columns_tensor`) for every element of `columns_tensor`.
// Its shape is [batch, channels x window, positions] or [channels x window, positions].
template <typename Body>
void for_each_column(const Columns& columns, const ImageLayout& image, const Tensor& columns_tensor, const Body& body) {
  const Window3d& w = columns.window;
  const int64_t rank = columns_tensor.dim();
  const int64_t row_stride = columns_tensor.stride(rank - 2), column_stride = columns_tensor.stride(rank - 1);
  const int64_t batch_stride = rank == 3 ? columns_tensor.stride(0) : 0;
  for (int64_t n = 0; n < image.batch; ++n) {
    for (int64_t row = 0; row < image.channels * w.taps(); ++row) {
      const int64_t channel = row / w.taps();
      const int64_t ky = row / w.kernel[2] % w.kernel[1], kx = row % w.kernel[2];
      const int64_t plane = n * image.batch_stride + channel * image.channel_stride;
      int64_t at = n * batch_stride + row * row_stride;
      for (int64_t line = 0; line < columns.count[0]; ++line) {
        const int64_t y = line * w.stride[1] - w.padding[1] + ky * w.dilation[1];
        const bool is_inside = y >= 0 && y < image.size[1];
        int64_t x = kx * w.dilation[2] - w.padding[2];
        for (int64_t i = 0; i < columns.count[1]; ++i, x += w.stride[2], at += column_stride) {
          const bool has_pixel = is_inside && x >= 0 && x < image.size[2];
          body(has_pixel ? plane + y * image.stride[1] + x * image.stride[2] : int64_t{-1}, at);
        }
      }
    }
  }
}

}  // namespace rushlight
