#pragma once

#include <algorithm>

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

// A line of elements of the im2col matrix, which read pixels of one line of the image, `window.stride[2]` pixels apart.
// Elements [begin, end) read pixels, and the other elements read padding.
struct ColumnLine {
  int64_t count;  // elements
  int64_t first;  // the offset of the first element in the matrix
  int64_t step;   // from element to element
  int64_t begin, end;
  int64_t pixel;       // the offset of the pixel of element `begin` in the image, or 0
  int64_t pixel_step;  // from pixel to pixel
};

// Returns the elements that read pixels: element i reads the pixel x + i * step of a line of `width` pixels.
inline ColumnLine line_of_pixels(int64_t count, int64_t x, int64_t step, int64_t width) {
  ColumnLine line{};
  line.count = count;
  line.begin = std::min(count, x < 0 ? (step - 1 - x) / step : 0);
  line.end = x < width ? std::min(count, (width - 1 - x) / step + 1) : 0;
  line.end = std::max(line.begin, line.end);
  return line;
}

// Calls body(line) for every line of a matrix of shape [batch, channels x window, positions] or [channels x window,
// positions].
template <typename Body>
void for_each_column_line(const Columns& columns, const ImageLayout& image, const Tensor& matrix, const Body& body) {
  const Window3d& w = columns.window;
  const int64_t rank = matrix.dim();
  const int64_t batch_stride = rank == 3 ? matrix.stride(0) : 0;
  for (int64_t n = 0; n < image.batch; ++n) {
    for (int64_t row = 0; row < image.channels * w.taps(); ++row) {
      const int64_t ky = row / w.kernel[2] % w.kernel[1], kx = row % w.kernel[2];
      const int64_t plane = n * image.batch_stride + row / w.taps() * image.channel_stride;
      const int64_t x = kx * w.dilation[2] - w.padding[2];
      ColumnLine line = line_of_pixels(columns.count[1], x, w.stride[2], image.size[2]);
      const int64_t begin = line.begin, end = line.end;
      line.step = matrix.stride(rank - 1);
      line.pixel_step = w.stride[2] * image.stride[2];
      line.first = n * batch_stride + row * matrix.stride(rank - 2);
      for (int64_t i = 0; i < columns.count[0]; ++i, line.first += line.count * line.step) {
        const int64_t y = i * w.stride[1] - w.padding[1] + ky * w.dilation[1];
        const bool is_inside = y >= 0 && y < image.size[1];
        line.begin = is_inside ? begin : 0;
        line.end = is_inside ? end : 0;
        const bool has_pixels = line.begin < line.end;
        line.pixel = has_pixels ? plane + y * image.stride[1] + (x + begin * w.stride[2]) * image.stride[2] : 0;
        body(line);
      }
    }
  }
}

}  // namespace rushlight
