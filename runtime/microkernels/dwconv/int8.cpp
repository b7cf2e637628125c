// Int8 depthwise convolutions, computed a row of outputs and a block of channels at a time.
#include "microkernels/dwconv/int8.h"

#include <cstring>

#include "core/rounding.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kColumns = 32;  // number of outputs, in one or more rows, whose sums are stored at a time
constexpr int64_t kSumBytes = kColumns * kDepthwiseChannels * 4;
constexpr int64_t kQuadColumns = 16;           // number of outputs whose quads are stored at a time
constexpr int64_t kMinQuadTaps = 5;            // with fewer taps, pairs are as fast
constexpr int64_t k3x3Rows = 8;                // number of output rows whose source pointers are written at a time
constexpr int64_t kMaxQuadSide = 7;            // of windows whose taps are multiplied in quads
constexpr int64_t kMaxStride = 2;              // of windows whose taps are grouped once for all outputs
constexpr int64_t kMaxPairBytes = 128 * 1024;  // of the taps that are grouped at a time
constexpr int64_t kLine = 64;                  // the alignment of packed data

}  // namespace

PackedInt8Depthwise::Algorithm PackedInt8Depthwise::algorithm() const {
  const Window& w = window;
  if (taps() == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 && w.pad_w == 0) return Algorithm::Pixel;
  if (w.dilation_w != 1 || w.stride_w > kMaxStride || pair_bytes() > kMaxPairBytes) return Algorithm::Taps;
  if (w.dilation_h != 1 || w.kernel_h > kMaxQuadSide || w.kernel_w > kMaxQuadSide) return Algorithm::Window;
  if (w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h <= kMaxStride && kernels_.loops.depthwise_3x3) {
    return Algorithm::Block3x3;
  }
  const bool has_quads = kernels_.loops.depthwise_quads && taps() >= kMinQuadTaps;
  return has_quads ? Algorithm::Quads : Algorithm::Window;
}

int64_t PackedInt8Depthwise::block_channels() const {
  if (is(Algorithm::Quads)) return kDepthwiseQuadChannels;
  return is(Algorithm::Block3x3) ? kDepthwise3x3Channels : kDepthwiseChannels;
}

int64_t PackedInt8Depthwise::blocks() const { return divide_up(channels, block_channels()); }

int64_t PackedInt8Depthwise::block_bytes() const {
  if (is(Algorithm::Block3x3)) return kDepthwise3x3Bytes;
  if (is(Algorithm::Quads)) return DepthwiseQuads{window.kernel_h, window.kernel_w}.block_bytes();
  const int64_t pairs = is(Algorithm::Window) ? window_pairs(window.kernel_h, window.kernel_w) : divide_up(taps(), 2);
  return pairs * 32 * static_cast<int64_t>(sizeof(int16_t));
}

int64_t PackedInt8Depthwise::weight_bytes() const {
  return round_up(is(Algorithm::Pixel) ? 4 * channels : blocks() * block_bytes(), kLine);
}

size_t PackedInt8Depthwise::packed_bytes() const {
  return static_cast<size_t>(weight_bytes() + round_up(4 * channels, kLine) + round_up(8 * taps(), kLine) + channels +
                             kDepthwiseChannels);
}

void PackedInt8Depthwise::pack(const int8_t* filters, uint8_t* to) {
  weights_ = to;
  corrections_ = reinterpret_cast<int32_t*>(weights_ + weight_bytes());
  places_ = reinterpret_cast<int64_t*>(reinterpret_cast<uint8_t*>(corrections_) + round_up(4 * channels, kLine));
  padding_ = reinterpret_cast<int8_t*>(places_) + round_up(8 * taps(), kLine);
  std::memset(padding_, zero, static_cast<size_t>(channels + kDepthwiseChannels));
  for (int64_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps(); ++tap) sum += filters[tap * channels + c];
    const int64_t exact = (bias ? bias[c] : 0) - int64_t{zero} * sum;
    corrections_[c] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
  }
  if (is(Algorithm::Pixel)) {
    for (int64_t c = 0; c < channels; ++c) reinterpret_cast<float*>(weights_)[c] = static_cast<float>(filters[c]);
    return;
  }
  const Int8Loops& loops = kernels_.loops;
  for (int64_t b = 0; b < blocks(); ++b) {
    uint8_t* const block = weights_ + b * block_bytes();
    const int64_t first = b * block_channels(), count = std::min(block_channels(), channels - first);
    int16_t* const numbers = reinterpret_cast<int16_t*>(block);
    const Int8DepthwiseWeights weights{filters + first,
                                       channels,
                                       count,
                                       zero,
                                       bias ? bias + first : nullptr,
                                       multipliers + first,
                                       offsets ? offsets + first : nullptr,
                                       &range};
    if (is(Algorithm::Block3x3)) {
      loops.pack_depthwise_3x3(weights, block);
    } else if (is(Algorithm::Quads)) {
      loops.pack_depthwise_quads(weights, window.kernel_h, window.kernel_w, block);
    } else if (is(Algorithm::Window)) {
      loops.pack_depthwise_window(filters + first, channels, window.kernel_h, window.kernel_w, count, numbers);
    } else {
      loops.pack_depthwise(filters + first, channels, taps(), count, numbers);
    }
  }
}

bool PackedInt8Depthwise::prepare(const int64_t* in, const int64_t* out) {
  std::copy_n(in, 4, in_);
  std::copy_n(out, 4, out_);
  if (is(Algorithm::Pixel) && !std::equal(in, in + 4, out)) return false;
  columns_ = columns(out[2]);
  if (columns_ > kMaxColumns) return false;
  for (int64_t tap = 0; tap < taps(); ++tap) {
    places_[tap] = tap / window.kernel_w * columns_ + tap % window.kernel_w * window.dilation_w;
  }
  return true;
}

// Returns the number of input columns that a row of outputs reads.
int64_t PackedInt8Depthwise::columns(int64_t width) const {
  return (std::max<int64_t>(width, 1) - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
}

// Returns the number of output rows that are computed at a time.
int64_t PackedInt8Depthwise::max_rows(int64_t width) const {
  if (is(Algorithm::Block3x3)) return k3x3Rows;
  if (is(Algorithm::Quads)) return 1;
  const bool has_rows = window.dilation_h == 1 && window.stride_h <= window.kernel_h;
  return has_rows ? std::max<int64_t>(kColumns / std::max<int64_t>(width, 1), 1) : 1;
}

// Returns the bytes of taps that several outputs read: quads, or pairs of small windows.
int64_t PackedInt8Depthwise::tap_bytes() const {
  if (is(Algorithm::Quads)) {
    return DepthwiseQuads{window.kernel_h, window.kernel_w}.bytes(kQuadColumns, window.stride_w);
  }
  return is(Algorithm::Window) ? pair_bytes() : 0;
}

int64_t PackedInt8Depthwise::pair_bytes() const {
  return 2 * window_pairs_size(window.kernel_h, window.kernel_w, window.stride_w, kColumns);
}

// Returns the number of input lines, `dilation` apart, that `rows` rows of outputs read.
int64_t PackedInt8Depthwise::lines(int64_t rows) const { return (rows - 1) * window.stride_h + window.kernel_h; }

// The scratch memory contains sums of outputs, quads or pairs of taps, and source pointers of rows.
size_t PackedInt8Depthwise::worker_bytes(int64_t width) const {
  const int64_t sources = lines(max_rows(width)) * columns(width) * static_cast<int64_t>(sizeof(const int8_t*));
  return static_cast<size_t>(kSumBytes + tap_bytes() + round_up(sources, kLine));
}

void PackedInt8Depthwise::run(const int8_t* in, uint8_t* out, int64_t begin, int64_t end, void* scratch) const {
  if (is(Algorithm::Pixel)) {
    const int64_t first = begin * out_[2] * channels;
    const float* const weights = reinterpret_cast<const float*>(weights_);
    return kernels_.loops.scale_channels(
        {in + first, (end - begin) * out_[2], channels, weights, corrections_, multipliers, offsets}, range,
        reinterpret_cast<int8_t*>(out) + first);
  }
  int32_t* const sums = static_cast<int32_t*>(scratch);
  const int8_t** const sources =
      reinterpret_cast<const int8_t**>(static_cast<uint8_t*>(scratch) + kSumBytes + tap_bytes());
  const int64_t height = in_[1], line_bytes = in_[2] * channels, most = max_rows(out_[2]);
  for (int64_t i = begin; i < end;) {
    const int64_t row = i % out_[1], count = std::min({most, end - i, out_[1] - row});
    const int8_t* const image = in + i / out_[1] * height * line_bytes;
    for (int64_t line = 0; line < lines(count); ++line) {
      const int64_t y = row * window.stride_h - window.pad_h + line * window.dilation_h;
      set_line(y < 0 || y >= height ? nullptr : image + y * line_bytes, sources + line * columns_);
    }
    uint8_t* const to = out + i * out_[2] * channels;
    for (int64_t b = 0; b < blocks(); ++b) {
      if (is(Algorithm::Block3x3)) {
        convolve_3x3(sources, count, b, to);
      } else if (is(Algorithm::Quads)) {
        convolve_quads(sources, b, static_cast<uint8_t*>(scratch) + kSumBytes, to);
      } else {
        convolve(sources, count, b, sums, to);
      }
    }
    i += count;
  }
}

// Writes a pointer to each pixel of a padded line. If `pixels` is null, the line is padding.
void PackedInt8Depthwise::set_line(const int8_t* pixels, const int8_t** to) const {
  const int64_t begin = pixels ? std::min(window.pad_w, columns_) : columns_;
  const int64_t end = pixels ? std::clamp(window.pad_w + in_[2], begin, columns_) : columns_;
  std::fill(to, to + begin, padding_);
  for (int64_t j = begin; j < end; ++j) to[j] = pixels + (j - begin) * channels;
  std::fill(to + end, to + columns_, padding_);
}

void PackedInt8Depthwise::convolve_3x3(const int8_t* const* sources, int64_t rows, int64_t block, uint8_t* out) const {
  const int64_t channel = block * kDepthwise3x3Channels, width = out_[2];
  const int64_t most = window.stride_h == 1 && window.stride_w == 1 ? 2 : 1;
  for (int64_t row = 0; row < rows; row += most) {
    int8_t* const to = reinterpret_cast<int8_t*>(out) + row * width * channels + channel;
    kernels_.loops.depthwise_3x3({sources + row * window.stride_h * columns_, columns_, window.stride_w, channel,
                                  std::min(kDepthwise3x3Channels, channels - channel), weights_ + block * block_bytes(),
                                  width, std::min(most, rows - row), to, channels, width * channels});
  }
}

void PackedInt8Depthwise::convolve_quads(const int8_t* const* sources, int64_t block, uint8_t* scratch,
                                         uint8_t* out) const {
  const int64_t channel = block * kDepthwiseQuadChannels;
  for (int64_t x = 0; x < out_[2]; x += kQuadColumns) {
    kernels_.loops.depthwise_quads({sources + x * window.stride_w, columns_, window.kernel_h, window.kernel_w,
                                    window.stride_w, channel, std::min(kDepthwiseQuadChannels, channels - channel),
                                    weights_ + block * block_bytes(), std::min(kQuadColumns, out_[2] - x), scratch,
                                    reinterpret_cast<int8_t*>(out) + x * channels + channel, channels});
  }
}

void PackedInt8Depthwise::convolve(const int8_t* const* sources, int64_t rows, int64_t block, int32_t* sums,
                                   uint8_t* out) const {
  const int64_t channel = block * kDepthwiseChannels, width = out_[2];
  const int64_t count = std::min(kDepthwiseChannels, channels - channel);
  const int16_t* const weights = reinterpret_cast<const int16_t*>(weights_ + block * block_bytes());
  int16_t* const pairs = reinterpret_cast<int16_t*>(sums) + kSumBytes / 2;
  const Requantize how{corrections_ + channel,
                       multipliers + channel,
                       offsets ? offsets + channel : nullptr,
                       range.zero,
                       range.least,
                       range.most};
  for (int64_t x = 0; x < width; x += kColumns) {
    const int64_t end = std::min(x + kColumns, width);
    for (int64_t row = 0; row < rows; ++row) {
      const int8_t* const* const from = sources + row * window.stride_h * columns_;
      int32_t* const to = sums + row * width * kDepthwiseChannels;
      if (is(Algorithm::Window)) {
        kernels_.loops.depthwise_window({from + x * window.stride_w, columns_, window.kernel_h, window.kernel_w,
                                         window.stride_w, channel, weights, end - x, pairs, to});
      } else {
        kernels_.loops.depthwise({from, places_, taps(), window.stride_w, channel, weights, x, end, to});
      }
    }
    // If several rows are computed at a time, each row has at most kColumns outputs.
    kernels_.requantize(how, {sums, kDepthwiseChannels, rows * (end - x), count, channels},
                        out + x * channels + channel);
  }
}

}  // namespace rushlight::microkernels
