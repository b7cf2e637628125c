#include "kernels/optimized/halo.h"

#include <algorithm>
#include <cstring>

namespace rushlight::optimized {

namespace {

void zero(float* to, int64_t n) {
  if (n > 0) std::memset(to, 0, static_cast<size_t>(n) * sizeof(float));
}

// Returns the smallest q >= 0 with q * stride + first >= bound.
int64_t first_from(int64_t first, int64_t stride, int64_t bound) {
  return first >= bound ? 0 : (bound - first + stride - 1) / stride;
}

}  // namespace

Halo::Halo(const Conv2d& conv, int64_t out_rows, int64_t vector_width) {
  const int64_t span_h = (conv.kernel_h - 1) * conv.dilation_h;
  const int64_t span_w = (conv.kernel_w - 1) * conv.dilation_w;
  phases_h = std::min(conv.stride_h, span_h + 1);
  phases_w = std::min(conv.stride_w, span_w + 1);
  rows = out_rows + span_h / conv.stride_h;
  row = conv.out_width + span_w / conv.stride_w;
  if (conv.stride_w == 1) {
    // The right padding of a row is also the left padding of the next row.
    const int64_t right = conv.out_width + span_w - conv.width - conv.pad_w;
    row -= std::max<int64_t>(0, std::min({conv.pad_w, right, span_w}));
  }
  plane = phases_h * phases_w * rows * row;
  slack = span_w + 4 * vector_width + row;
}

int64_t Halo::tap_offset(const Conv2d& conv, int64_t ky, int64_t kx) const {
  const int64_t y = ky * conv.dilation_h;
  const int64_t x = kx * conv.dilation_w;
  const int64_t phase = y % conv.stride_h * phases_w + x % conv.stride_w;
  return (phase * rows + y / conv.stride_h) * row + x / conv.stride_w;
}

void Halo::fill(const microkernels::F32Microkernels& kernels, const Conv2d& conv, const float* channel, int64_t out_y,
                float* to) const {
  for (int64_t phase_y = 0; phase_y < phases_h; ++phase_y) {
    for (int64_t phase_x = 0; phase_x < phases_w; ++phase_x) {
      const int64_t first_x = phase_x - conv.pad_w;
      const int64_t begin = std::min(row, first_from(first_x, conv.stride_w, 0));
      const int64_t end = std::max(begin, std::min(row, first_from(first_x, conv.stride_w, conv.width)));
      for (int64_t r = 0; r < rows; ++r, to += row) {
        const int64_t y = (out_y + r) * conv.stride_h + phase_y - conv.pad_h;
        if (y < 0 || y >= conv.height) {
          zero(to, row);
          continue;
        }
        const float* from = channel + y * conv.width + first_x + begin * conv.stride_w;
        zero(to, begin);
        if (conv.stride_w == 1) {
          std::memcpy(to + begin, from, static_cast<size_t>(end - begin) * sizeof(float));
        } else {
          kernels.copy_strided(from, conv.stride_w, end - begin, to + begin);
        }
        zero(to + end, row - end);
      }
    }
  }
}

}  // namespace rushlight::optimized
