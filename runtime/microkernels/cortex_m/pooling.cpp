#include <algorithm>
#include <utility>

#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight::microkernels::cortex_m {
namespace {

// Calls body(y, in, out) for each row of the output. `in` is the plane of the channel.
template <typename Body>
void for_each_row(const ImageShape& in_shape, const ImageShape& out_shape, const uint8_t* in, uint8_t* out,
                  const Body& body) {
  for (int32_t image = 0; image < out_shape.batch; ++image) {
    for (int32_t channel = 0; channel < out_shape.channels; ++channel) {
      const uint8_t* const from = in + image * in_shape.batch_stride + channel * in_shape.channel_stride;
      uint8_t* to = out + image * out_shape.batch_stride + channel * out_shape.channel_stride;
      for (int32_t y = 0; y < out_shape.height; ++y, to += out_shape.row_stride) body(y, from, to);
    }
  }
}

// Returns whether all taps of all windows are inside of the image.
bool all_inside(const ImageWindow& w, const ImageShape& in, const ImageShape& out) {
  return w.pad_h == 0 && w.pad_w == 0 && (out.height - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h < in.height &&
         (out.width - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w < in.width;
}

WindowRow row_of(const ImageWindow& w, const ImageShape& in, const ImageShape& out, uint8_t sign_mask) {
  WindowRow row{};
  row.kernel_h = w.kernel_h, row.kernel_w = w.kernel_w;
  row.stride = w.stride_w * in.column_stride, row.step = w.stride_w;
  row.row_stride = w.dilation_h * in.row_stride, row.row_step = w.dilation_h * in.width;
  row.tap_stride = w.dilation_w * in.column_stride, row.tap_step = w.dilation_w;
  row.out_stride = out.column_stride;
  row.bias = sign_mask ^ 0x80;
  return row;
}

}  // namespace

int32_t sum(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask) {
  // Bytes XOR `bias` are unsigned: the int8 numbers plus 128.
  const uint8_t bias = sign_mask ^ 0x80;
  if (stride == 1) return static_cast<int32_t>(sum_of_bytes(from, n, bias * 0x01010101u)) - 128 * n;
  int32_t total = 0;
  for (int32_t i = 0; i < n; ++i, from += stride) total += static_cast<int8_t>(*from ^ sign_mask);
  return total;
}

void average_pool(const Int8Means& m, const uint8_t* in, uint8_t* out) {
  const ImageWindow& w = m.window;
  // Windows with long rows are summed one after the other, many bytes at a time. Other windows that are inside of the
  // image are computed together: those of a row, or those of all channels at a pixel, whichever are more.
  constexpr int32_t kLong = 16;
  const bool is_long =
      w.kernel_w >= kLong || (m.out.width == 1 && m.in.column_stride == 1 && w.kernel_w * w.kernel_h >= kLong);
  if (!is_long && all_inside(w, m.in, m.out)) {
    WindowRow row = row_of(w, m.in, m.out, m.sign_mask);
    int32_t n = m.out.width, lines = m.out.channels, step = m.in.channel_stride, out_step = m.out.channel_stride;
    if (lines > n) {
      std::swap(n, lines), std::swap(step, row.stride), std::swap(out_step, row.out_stride);
    }
    for (int32_t image = 0; image < m.out.batch; ++image) {
      for (int32_t y = 0; y < m.out.height; ++y) {
        const uint8_t* from = in + image * m.in.batch_stride + y * w.stride_h * m.in.row_stride;
        uint8_t* to = out + image * m.out.batch_stride + y * m.out.row_stride;
        for (int32_t i = 0; i < lines; ++i, from += step, to += out_step) row_means(row, m, from, n, to);
      }
    }
    return;
  }
  for_each_row(m.in, m.out, in, out, [&](int32_t y, const uint8_t* plane, uint8_t* to) {
    const int32_t top = y * w.stride_h - w.pad_h, bottom = std::min(top + w.kernel_h, m.in.height + w.pad_h);
    const int32_t y0 = std::max<int32_t>(top, 0), y1 = std::min(bottom, m.in.height);
    for (int32_t x = 0; x < m.out.width; ++x, to += m.out.column_stride) {
      const int32_t left = x * w.stride_w - w.pad_w, right = std::min(left + w.kernel_w, m.in.width + w.pad_w);
      const int32_t x0 = std::max<int32_t>(left, 0), x1 = std::min(right, m.in.width);
      const int32_t rows = std::max<int32_t>(0, y1 - y0), columns = std::max<int32_t>(0, x1 - x0),
                    covered = rows * columns;
      const uint8_t* from = plane + y0 * m.in.row_stride + x0 * m.in.column_stride;
      int32_t total = 0;
      if (columns * m.in.column_stride == m.in.row_stride) {
        total = sum(from, m.in.column_stride, covered, m.sign_mask);
      } else {
        for (int32_t row = 0; row < rows; ++row, from += m.in.row_stride) {
          total += sum(from, m.in.column_stride, columns, m.sign_mask);
        }
      }
      const int32_t divisor = m.counts_padding ? (bottom - top) * (right - left) : covered;
      const float real = static_cast<float>(total - m.zero * covered) * m.factor;
      *to = requantized(covered == 0 ? 0.0f : real / static_cast<float>(divisor), m.output);
    }
  });
}

void max_pool(const Int8Maxima& m, const uint8_t* in, uint8_t* out, int64_t* indices) {
  const ImageWindow& w = m.window;
  // Return the first tap that is not before the image, and the number of taps from there to the end of the image.
  const auto first_inside = [](int32_t begin, int32_t dilation) {
    while (begin < 0) begin += dilation;
    return begin;
  };
  const auto taps_inside = [](int32_t first, int32_t end, int32_t dilation) {
    return end > first ? (end - first + dilation - 1) / dilation : 0;
  };
  const int32_t reach_h = (w.kernel_h - 1) * w.dilation_h, reach_w = (w.kernel_w - 1) * w.dilation_w;
  WindowRow row = row_of(w, m.in, m.out, m.sign_mask);
  row.index_stride = m.indices.column_stride;
  // Windows with the same taps are computed together. These are either the windows of all channels at a pixel, or the
  // windows of output columns [begin, end), whose taps are all inside of the image, whichever are more.
  const bool is_by_channel = m.out.channels > m.out.width;
  int32_t begin = 0, end = 0;
  if (is_by_channel) {
    row.stride = m.in.channel_stride, row.step = 0;
    row.out_stride = m.out.channel_stride, row.index_stride = m.indices.channel_stride;
  } else {
    const int32_t last_start = m.in.width - 1 + w.pad_w - reach_w;
    begin = std::min((w.pad_w + w.stride_w - 1) / w.stride_w, m.out.width);
    end = std::max(begin, std::min<int32_t>(last_start < 0 ? 0 : last_start / w.stride_w + 1, m.out.width));
  }
  for (int32_t image = 0; image < m.out.batch; ++image) {
    for (int32_t y = 0; y < m.out.height; ++y) {
      const int32_t top = y * w.stride_h - w.pad_h, y0 = first_inside(top, w.dilation_h);
      row.kernel_h = taps_inside(y0, std::min(top + reach_h + 1, m.in.height), w.dilation_h);
      for (int32_t x = 0; x < m.out.width;) {
        const int32_t left = x * w.stride_w - w.pad_w, x0 = first_inside(left, w.dilation_w);
        const int32_t count = x == begin && end > begin ? end - begin : 1;
        row.kernel_w = taps_inside(x0, std::min(left + reach_w + 1, m.in.width), w.dilation_w);
        const uint8_t* from = in + image * m.in.batch_stride + y0 * m.in.row_stride + x0 * m.in.column_stride;
        uint8_t* to = out + image * m.out.batch_stride + y * m.out.row_stride + x * m.out.column_stride;
        int64_t* places =
            indices + image * m.indices.batch_stride + y * m.indices.row_stride + x * m.indices.column_stride;
        const int32_t place = y0 * m.in.width + x0;
        x += count;
        if (is_by_channel) {
          row_maxima(row, from, place, m.out.channels, to, places);
          continue;
        }
        for (int32_t channel = 0; channel < m.out.channels; ++channel) {
          row_maxima(row, from, place, count, to, places);
          from += m.in.channel_stride, to += m.out.channel_stride, places += m.indices.channel_stride;
        }
      }
    }
  }
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_INT8
