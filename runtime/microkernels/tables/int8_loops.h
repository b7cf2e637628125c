// Loops over int8 numbers that stand for reals, real = (number - zero) * scale, one set for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::microkernels {

struct Int8Range;

// A block of up to 16 channels of a depthwise convolution: sums[x, 16] for x in [begin, end).
struct Int8DepthwiseTaps {
  // sources[offsets[tap] + x * stride] + channel: 16 numbers, of which the last ones may be anything.
  const int8_t* const* sources;
  const int64_t* offsets;  // [taps]
  int64_t taps, stride;
  int64_t channel;
  const int16_t* weights;  // of the block, as pack_depthwise() writes them
  int64_t begin, end;
  int32_t* sums;
};
inline constexpr int64_t kDepthwiseChannels = 16;

// The same for a dense window of few taps: sums[x, 16] for x < count.
struct Int8DepthwiseWindow {
  // sources[y * line + x * stride + tap in the line] + channel: 16 numbers, of which the last ones may be anything.
  const int8_t* const* sources;
  int64_t line, height, width, stride;
  int64_t channel;
  const int16_t* weights;  // of the block, as pack_depthwise_window() writes them
  int64_t count;
  int16_t* pairs;  // window_pairs_size() numbers, aligned to 32 bytes
  int32_t* sums;
};
// Pairs of taps, one below the other, or of the last line of an odd number of lines side by side.
inline int64_t window_pairs(int64_t height, int64_t width) {
  return height / 2 * width + height % 2 * ((width + 1) / 2);
}
inline int64_t window_pairs_size(int64_t height, int64_t width, int64_t stride, int64_t count) {
  return ((count - 1) * stride + width) * ((height + 1) / 2) * 32;
}

// Results of a 3 x 3 window at stride 1 or 2, for a block of up to kDepthwise3x3Channels channels: out[x, channels] for
// x < count, of one row or, where the stride is 1 down the image too, of two.
struct Int8Depthwise3x3 {
  // sources[y * line + x * stride + tap in the line] + channel: `channels` numbers. No others are read.
  const int8_t* const* sources;
  int64_t line, stride;
  int64_t channel, channels;
  const void* block;  // as pack_depthwise_3x3() writes it
  int64_t count;
  int64_t rows;
  int8_t* out;
  int64_t out_stride, row_stride;
};
inline constexpr int64_t kDepthwise3x3Channels = 64, kDepthwise3x3Bytes = 2368;

// What pack_depthwise_3x3() writes down: the weights, [9, channels] numbers `weight_stride` apart from tap to tap,
// and what becomes of sums, as Requantize has it, all of the block's channels.
struct Int8Depthwise3x3Weights {
  const int8_t* weights;
  int64_t weight_stride;
  int64_t channels;
  int32_t zero;         // of the input
  const int32_t* bias;  // or null
  const float* multiplier;
  const float* offset;  // or null
  const Int8Range* range;
};

struct Int8Loops {
  // to[i] = from[i] * factor, rounded to nearest, ties to even, in range
  void (*quantize)(const float* from, int64_t n, float factor, const Int8Range& range, int8_t* to);
  // to[i] = (from[i] - zero) * scale
  void (*expand)(const int8_t* from, int64_t n, int32_t zero, float scale, float* to);
  // Lowers *least and raises *most to those of from[n].
  void (*widen_range)(const float* from, int64_t n, float* least, float* most);
  // to[i] = a[i] * a_factor + b[i] * b_factor + offset, in range
  void (*add)(const int8_t* a, const int8_t* b, int64_t n, float a_factor, float b_factor, float offset,
              const Int8Range& range, int8_t* to);
  // to[i] = (a[i] - a_zero) * (b[i] - b_zero) * factor, in range
  void (*multiply)(const int8_t* a, const int8_t* b, int64_t n, int32_t a_zero, int32_t b_zero, float factor,
                   const Int8Range& range, int8_t* to);
  // to[i] = max over rows of row[i], clamped
  void (*maximum)(const int8_t* const* rows, int64_t count, int64_t n, int32_t least, int32_t most, int8_t* to);
  // sums[i] += sum over rows of from[row * stride + i]
  void (*add_rows)(const int8_t* from, int64_t rows, int64_t stride, int64_t n, int32_t* sums);

  // to[i * 3 + r] = rows[r * stride + i] for r < 3
  void (*interleave_3)(const int8_t* rows, int64_t stride, int64_t n, int8_t* to);

  void (*depthwise)(const Int8DepthwiseTaps& block);
  // weights [taps, 16] of a block to ((taps + 1) / 2) * 32 numbers, aligned to 64 bytes.
  void (*pack_depthwise)(const int8_t* weights, int64_t stride, int64_t taps, int64_t channels, int16_t* to);
  void (*depthwise_window)(const Int8DepthwiseWindow& block);
  // weights [height * width, 16] of a block to window_pairs() * 32 numbers, aligned to 64 bytes.
  void (*pack_depthwise_window)(const int8_t* weights, int64_t stride, int64_t height, int64_t width, int64_t channels,
                                int16_t* to);
  // Null where no faster.
  void (*depthwise_3x3)(const Int8Depthwise3x3& block);
  // To kDepthwise3x3Bytes bytes, aligned to 64 of them.
  void (*pack_depthwise_3x3)(const Int8Depthwise3x3Weights& weights, void* to);
};

}  // namespace rushlight::microkernels
