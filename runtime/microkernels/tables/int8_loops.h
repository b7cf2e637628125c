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
  // sources[y * line + x * stride + tap in the line] + channel points to `channels` numbers. Up to 15 numbers after
  // them are ignored.
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

// How depthwise_quads() computes a window: products of four taps. A group has four lines of one column; the last group
// may have fewer. If one line remains after the groups of four, it is computed across: four columns of this line.
struct DepthwiseQuads {
  int64_t height, width;

  bool has_across() const { return height % 4 == 1; }
  int64_t groups() const { return has_across() ? height / 4 : (height + 3) / 4; }
  int64_t products() const { return groups() * width + (has_across() ? (width + 3) / 4 : 0); }
  int64_t block_bytes() const;  // of the packed weights
  int64_t columns(int64_t count, int64_t stride) const { return (count - 1) * stride + width; }
  // Returns the bytes of scratch memory for `count` outputs.
  int64_t bytes(int64_t count, int64_t stride) const {
    return (groups() + (has_across() ? 1 : 0)) * columns(count, stride) * 256;
  }
};
inline constexpr int64_t kDepthwiseQuadChannels = 64, kDepthwiseQuadHead = 832;
inline int64_t DepthwiseQuads::block_bytes() const { return kDepthwiseQuadHead + products() * 256; }

// A depthwise convolution without dilation, for a block of up to kDepthwiseQuadChannels channels: results
// out[x, channels] for x < count.
struct Int8DepthwiseQuads {
  // sources[y * line + x * stride + tap in the line] + channel points to `channels` numbers. Nothing after them is
  // read.
  const int8_t* const* sources;
  int64_t line, height, width, stride;
  int64_t channel, channels;
  const void* block;  // written by pack_depthwise_quads()
  int64_t count;
  uint8_t* quads;  // scratch memory of DepthwiseQuads::bytes(count, stride), aligned to 64 bytes
  int8_t* out;
  int64_t out_stride;
};

// The parameters of a block for pack_depthwise_3x3() or pack_depthwise_quads(): weights [taps, channels], which are
// `weight_stride` numbers apart from tap to tap, and the parameters of Requantize for these channels.
struct Int8DepthwiseWeights {
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
  // to[x * channels + c] = sum of sources[i][x * step + c] for i < count, for x < pixels and c < channels; count > 0
  void (*add_pixels)(const int32_t* const* sources, int64_t count, int64_t pixels, int64_t step, int64_t channels,
                     int32_t* to);

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
  void (*pack_depthwise_3x3)(const Int8DepthwiseWeights& weights, void* to);
  // Null if depthwise_window() is as fast.
  void (*depthwise_quads)(const Int8DepthwiseQuads& block);
  // Writes DepthwiseQuads::block_bytes() bytes to `to`, which is aligned to 64 bytes.
  void (*pack_depthwise_quads)(const Int8DepthwiseWeights& weights, int64_t height, int64_t width, void* to);
};

}  // namespace rushlight::microkernels
