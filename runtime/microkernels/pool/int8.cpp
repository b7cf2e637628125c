#include "microkernels/pool/int8.h"

#include <algorithm>

#include "core/rounding.h"

namespace rushlight::microkernels {

void Int8Pool2d::prepare(const int64_t* in, const int64_t* out) {
  std::copy_n(in, 4, in_);
  std::copy_n(out, 4, out_);
}

PoolAxis Int8Pool2d::height() const {
  return {in_[1], out_[1], window.kernel_h, window.stride_h, window.pad_h, window.dilation_h};
}
PoolAxis Int8Pool2d::width() const {
  return {in_[2], out_[2], window.kernel_w, window.stride_w, window.pad_w, window.dilation_w};
}

size_t Int8Pool2d::source_bytes() const {
  const int64_t taps = std::max(window.kernel_h, window.kernel_w);
  return static_cast<size_t>(round_up(taps * static_cast<int64_t>(sizeof(const int8_t*)), 64));
}

// The scratch memory contains pointers to the lines or columns of a window, followed by the maxima over lines, or by
// the sums over lines, the sums of windows, and the corrections and multipliers of the channels.
size_t Int8Pool2d::worker_bytes() const {
  const int64_t channels = in_[3];
  if (is_maximum) return source_bytes() + static_cast<size_t>(round_up(in_[2] * channels, 64));
  const int64_t numbers =
      round_up(in_[2] * channels, 16) + round_up(out_[2] * channels, 16) + 2 * round_up(channels, 16);
  return source_bytes() + static_cast<size_t>(numbers) * sizeof(int32_t);
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
  const PoolAxis rows = height(), columns = width();
  const int64_t channels = in_[3], line_bytes = in_[2] * channels;
  const int8_t** const sources = reinterpret_cast<const int8_t**>(scratch);
  int8_t* const line = reinterpret_cast<int8_t*>(scratch + source_bytes());
  const PoolAxis::Taps taps = rows.taps(y);
  for (int64_t ky = taps.first; ky < taps.last; ++ky) {
    sources[ky - taps.first] = image + (rows.start(y) + ky * window.dilation_h) * line_bytes;
  }
  // If there is only one line, it is read in place.
  const int8_t* const from = taps.count() == 1 ? sources[0] : line;
  if (from == line) loops.maximum(sources, taps.count(), line_bytes, range.least, range.most, line);
  for (int64_t x = 0, pixels = 0; x < out_[2]; x += pixels) {
    const PoolAxis::Taps across = columns.taps(x);
    for (int64_t kx = across.first; kx < across.last; ++kx) {
      sources[kx - across.first] = from + (columns.start(x) + kx * window.dilation_w) * channels;
    }
    // Adjacent windows are computed as one window with all their channels.
    pixels = window.stride_w == 1 ? columns.similar_windows(x) : 1;
    loops.maximum(sources, across.count(), pixels * channels, range.least, range.most, to + x * channels);
  }
}

// Computes the sums over the lines of the windows first, for the whole width, and then the sums along the line.
void Int8Pool2d::means(const int8_t* image, int64_t y, int8_t* to, uint8_t* scratch) const {
  const Int8Microkernels& t = int8_microkernels();
  const PoolAxis rows = height(), columns = width();
  const int64_t channels = in_[3], numbers = in_[2] * channels;
  const int32_t** const sources = reinterpret_cast<const int32_t**>(scratch);
  int32_t* const line = reinterpret_cast<int32_t*>(scratch + source_bytes());
  int32_t* const sums = line + round_up(numbers, 16);
  int32_t* const corrections = sums + round_up(out_[2] * channels, 16);
  float* const multipliers = reinterpret_cast<float*>(corrections + round_up(channels, 16));
  const PoolAxis::Taps taps = rows.taps(y);
  std::fill_n(line, numbers, 0);
  if (taps.count() > 0) {
    const int8_t* const first = image + (rows.start(y) + taps.first * window.dilation_h) * numbers;
    t.loops.add_rows(first, taps.count(), window.dilation_h * numbers, numbers, line);
  }
  for (int64_t x = 0, pixels = 0; x < out_[2]; x += pixels) {
    const PoolAxis::Taps across = columns.taps(x);
    const int64_t count = taps.count() * across.count();
    pixels = columns.similar_windows(x);
    for (int64_t kx = across.first; kx < across.last; ++kx) {
      sources[kx - across.first] = line + (columns.start(x) + kx * window.dilation_w) * channels;
    }
    if (across.count() == 0) {
      std::fill_n(sums, channels, 0);
    } else if (window.stride_w == 1) {
      // Adjacent windows are computed as one window with all their channels.
      t.loops.add_pixels(sources, across.count(), 1, 0, pixels * channels, sums);
    } else {
      t.loops.add_pixels(sources, across.count(), pixels, window.stride_w * channels, channels, sums);
    }
    std::fill_n(corrections, channels, static_cast<int32_t>(-zero * count));
    std::fill_n(multipliers, channels, factor / static_cast<float>(divisor_of(y, x, count)));
    t.requantize({corrections, multipliers, nullptr, range.zero, range.least, range.most},
                 {sums, channels, pixels, channels, channels}, reinterpret_cast<uint8_t*>(to + x * channels));
  }
}

// Returns the divisor of a mean. `count` is the number of taps inside the image.
int64_t Int8Pool2d::divisor_of(int64_t y, int64_t x, int64_t count) const {
  if (divisor > 0) return divisor;
  if (!counts_padding) return std::max<int64_t>(count, 1);
  return std::max<int64_t>(1, height().padded_taps(y) * width().padded_taps(x));
}

}  // namespace rushlight::microkernels
