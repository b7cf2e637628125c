#include "microkernels/pool/int8.h"

#include <algorithm>
#include <cstring>

#include "core/rounding.h"

namespace rushlight::microkernels {

void Int8Pool2d::prepare(const int64_t* in, const int64_t* out) {
  std::copy_n(in, 4, in_);
  std::copy_n(out, 4, out_);
}

size_t Int8Pool2d::source_bytes() const {
  return static_cast<size_t>(round_up(taps() * static_cast<int64_t>(sizeof(const int8_t*)), 64));
}

// The scratch memory contains pointers to the pixels of a window, followed by maxima of lines, or by sums, corrections
// and multipliers of the channels.
size_t Int8Pool2d::worker_bytes() const {
  const int64_t channels = in_[3];
  const int64_t numbers = is_maximum ? round_up(in_[2] * channels, 64) : 3 * 4 * round_up(channels, 16);
  return source_bytes() + static_cast<size_t>(numbers);
}

void Int8Pool2d::run(const int8_t* in, int8_t* out, int64_t begin, int64_t end, void* scratch) const {
  for (int64_t i = begin; i < end; ++i) {
    const int8_t* const image = in + i / out_[1] * in_[1] * in_[2] * in_[3];
    int8_t* const to = out + i * out_[2] * out_[3];
    uint8_t* const bytes = static_cast<uint8_t*>(scratch);
    is_maximum ? maxima(image, i % out_[1], to, bytes) : means(image, i % out_[1], to, bytes);
  }
}

// Computes the maxima over the lines of the windows first, for the whole width, and then the maxima along the line.
void Int8Pool2d::maxima(const int8_t* image, int64_t y, int8_t* to, uint8_t* scratch) const {
  const Int8Loops& loops = int8_microkernels().loops;
  const int64_t height = in_[1], width = in_[2], channels = in_[3];
  const int8_t** const sources = reinterpret_cast<const int8_t**>(scratch);
  int8_t* const line = reinterpret_cast<int8_t*>(scratch + source_bytes());
  int64_t count = 0;
  for (int64_t ky = 0, v = y * window.stride_h - window.pad_h; ky < window.kernel_h; ++ky, v += window.dilation_h) {
    if (v >= 0 && v < height) sources[count++] = image + v * width * channels;
  }
  // If there is only one line, it is read in place.
  const int8_t* const from = count == 1 ? sources[0] : line;
  if (from == line) loops.maximum(sources, count, width * channels, range.least, range.most, line);
  for (int64_t x = 0; x < out_[2]; ++x, to += channels) {
    count = 0;
    for (int64_t kx = 0, u = x * window.stride_w - window.pad_w; kx < window.kernel_w; ++kx, u += window.dilation_w) {
      if (u >= 0 && u < width) sources[count++] = from + u * channels;
    }
    loops.maximum(sources, count, channels, range.least, range.most, to);
  }
}

void Int8Pool2d::means(const int8_t* image, int64_t y, int8_t* to, uint8_t* scratch) const {
  const Int8Microkernels& t = int8_microkernels();
  const int64_t height = in_[1], width = in_[2], channels = in_[3];
  const int8_t** const sources = reinterpret_cast<const int8_t**>(scratch);
  int32_t* const sums = reinterpret_cast<int32_t*>(scratch + source_bytes());
  int32_t* const corrections = sums + round_up(channels, 16);
  float* const multipliers = reinterpret_cast<float*>(corrections + round_up(channels, 16));
  const int64_t top = y * window.stride_h - window.pad_h;
  int64_t last_count = -1, last_divisor = -1;
  for (int64_t x = 0; x < out_[2]; ++x, to += channels) {
    const int64_t left = x * window.stride_w - window.pad_w;
    int64_t count = 0;
    for (int64_t ky = 0; ky < window.kernel_h; ++ky) {
      const int64_t v = top + ky * window.dilation_h;
      if (v < 0 || v >= height) continue;
      for (int64_t kx = 0; kx < window.kernel_w; ++kx) {
        const int64_t u = left + kx * window.dilation_w;
        if (u >= 0 && u < width) sources[count++] = image + (v * width + u) * channels;
      }
    }
    const int64_t by = divisor_at(top, left, count);
    if (count != last_count || by != last_divisor) {
      std::fill_n(corrections, channels, static_cast<int32_t>(-zero * count));
      std::fill_n(multipliers, channels, factor / static_cast<float>(by));
      last_count = count, last_divisor = by;
    }
    std::memset(sums, 0, static_cast<size_t>(channels) * sizeof(int32_t));
    for (int64_t i = 0; i < count; ++i) t.loops.add_rows(sources[i], 1, channels, channels, sums);
    t.requantize({corrections, multipliers, nullptr, range.zero, range.least, range.most},
                 {sums, channels, 1, channels, channels}, reinterpret_cast<uint8_t*>(to));
  }
}

int64_t Int8Pool2d::divisor_at(int64_t top, int64_t left, int64_t count) const {
  if (divisor > 0) return divisor;
  if (!counts_padding) return std::max<int64_t>(count, 1);
  // The size of the part of the window that is inside of the padded image.
  const int64_t lines = std::min(top + window.kernel_h, in_[1] + window.pad_h) - top;
  const int64_t columns = std::min(left + window.kernel_w, in_[2] + window.pad_w) - left;
  return std::max<int64_t>(1, lines * columns);
}

}  // namespace rushlight::microkernels
