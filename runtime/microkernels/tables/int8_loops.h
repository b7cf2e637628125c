// Loops over quantized int8 numbers, real = (number - zero) * scale, one table for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::microkernels {

struct Int8Range;

// A block of up to 16 channels of a depthwise convolution: sums[x, 16] for x in [begin, end).
struct Int8DepthwiseTaps {
  // sources[offsets[tap] + x * stride] + channel points to 16 numbers. Numbers after the channels of the block are
  // ignored.
  const int8_t* const* sources;
  const int64_t* offsets;  // [taps]
  int64_t taps, stride;
  int64_t channel;
  const int16_t* weights;  // written by pack_depthwise()
  int64_t begin, end;
  int32_t* sums;
};
inline constexpr int64_t kDepthwiseChannels = 16;

// As Int8DepthwiseTaps, for a small window without dilation: sums[x, 16] for x < count.
struct Int8DepthwiseWindow {
  // sources[y * line + x * stride + tap in the line] + channel points to 16 numbers. Numbers beyond the block's
  // channels are ignored.
  const int8_t* const* sources;
  int64_t line, height, width, stride;
  int64_t channel;
  const int16_t* weights;  // written by pack_depthwise_window()
  int64_t count;
  int16_t* pairs;  // scratch memory for window_pairs_size() numbers, aligned to 32 bytes
  int32_t* sums;
};
// Returns the number of pairs of taps. A pair consists of two vertically adjacent taps. If the number of lines is odd,
// the pairs of the last line consist of two horizontally adjacent taps.
inline int64_t window_pairs(int64_t height, int64_t width) {
  return height / 2 * width + height % 2 * ((width + 1) / 2);
}
inline int64_t window_pairs_size(int64_t height, int64_t width, int64_t stride, int64_t count) {
  return ((count - 1) * stride + width) * ((height + 1) / 2) * 32;
}

// A depthwise convolution of 3 x 3 with a stride of 1 or 2, for a block of up to kDepthwise3x3Channels channels:
// results out[x, channels] for x < count. It computes one row, or two rows if the vertical stride is 1.
struct Int8Depthwise3x3 {
  // sources[y * line + x * stride + tap in the line] + channel points to `channels` numbers. Nothing after them is
  // read.
  const int8_t* const* sources;
  int64_t line, stride;
  int64_t channel, channels;
  const void* block;  // written by pack_depthwise_3x3()
  int64_t count;
  int64_t rows;
  int8_t* out;
  int64_t out_stride, row_stride;
};
inline constexpr int64_t kDepthwise3x3Channels = 64, kDepthwise3x3Bytes = 2368;

// The parameters of a block for pack_depthwise_3x3(): weights [9, channels], which are `weight_stride` numbers apart
// from tap to tap, and the parameters of Requantize for these channels.
struct Int8Depthwise3x3Weights {
  const int8_t* weights;
  int64_t weight_stride;
  int64_t channels;
  int32_t zero;         // zero point of the input
  const int32_t* bias;  // may be null
  const float* multiplier;
  const float* offset;  // may be null
  const Int8Range* range;
};

// Pixels whose channels are scaled: a depthwise convolution with a window of one pixel.
struct Int8ScaledChannels {
  const int8_t* from;  // [pixels, channels]
  int64_t pixels, channels;
  const float* weights;        // [channels], integers
  const int32_t* corrections;  // [channels]
  const float* multipliers;    // [channels]
  const float* offsets;        // [channels] or null
};

struct Int8Loops {
  // to[i] = clamp(round(from[i] * factor) + zero), ties to even
  void (*quantize)(const float* from, int64_t n, float factor, const Int8Range& range, int8_t* to);
  // to[i] = (from[i] - zero) * scale
  void (*expand)(const int8_t* from, int64_t n, int32_t zero, float scale, float* to);
  // *least = min(*least, all of from[n]), *most = max(*most, all of from[n])
  void (*widen_range)(const float* from, int64_t n, float* least, float* most);
  // to[i] = clamp(round(a[i] * a_factor + b[i] * b_factor + offset) + zero)
  void (*add)(const int8_t* a, const int8_t* b, int64_t n, float a_factor, float b_factor, float offset,
              const Int8Range& range, int8_t* to);
  // to[i] = clamp(round((a[i] - a_zero) * (b[i] - b_zero) * factor) + zero)
  void (*multiply)(const int8_t* a, const int8_t* b, int64_t n, int32_t a_zero, int32_t b_zero, float factor,
                   const Int8Range& range, int8_t* to);
  // to[i] = max over rows of row[i], clamped
  void (*maximum)(const int8_t* const* rows, int64_t count, int64_t n, int32_t least, int32_t most, int8_t* to);
  // sums[i] += sum over rows of from[row * stride + i]
  void (*add_rows)(const int8_t* from, int64_t rows, int64_t stride, int64_t n, int32_t* sums);

  // to[i] = entries[from[i]] for a table of 256 entries
  void (*look_up)(const uint8_t* from, const int8_t* entries, int64_t n, int8_t* to);

  // to[i * 3 + r] = rows[r * stride + i] for r < 3
  void (*interleave_3)(const int8_t* rows, int64_t stride, int64_t n, int8_t* to);

  // to[p, c] = clamp(round((from[p, c] * weights[c] + corrections[c]) * multipliers[c] + offsets[c]) + zero)
  void (*scale_channels)(const Int8ScaledChannels& pixels, const Int8Range& range, int8_t* to);
  void (*depthwise)(const Int8DepthwiseTaps& block);
  // Packs the weights [taps, 16] of a block as ((taps + 1) / 2) * 32 numbers, aligned to 64 bytes.
  void (*pack_depthwise)(const int8_t* weights, int64_t stride, int64_t taps, int64_t channels, int16_t* to);
  void (*depthwise_window)(const Int8DepthwiseWindow& block);
  // Packs the weights [height * width, 16] of a block as window_pairs() * 32 numbers, aligned to 64 bytes.
  void (*pack_depthwise_window)(const int8_t* weights, int64_t stride, int64_t height, int64_t width, int64_t channels,
                                int16_t* to);
  // Null if depthwise_window() is as fast.
  void (*depthwise_3x3)(const Int8Depthwise3x3& block);
  // Writes kDepthwise3x3Bytes bytes to `to`, which is aligned to 64 bytes.
  void (*pack_depthwise_3x3)(const Int8Depthwise3x3Weights& weights, void* to);
};

}  // namespace rushlight::microkernels
