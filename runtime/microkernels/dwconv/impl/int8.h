// The depthwise convolutions of Int8Loops, in namespace rushlight::microkernels::RL_ISA. That namespace defines
// RL_BLOCKS_3X3 if its table has Int8Loops::depthwise_3x3.
#pragma once

#include <cstring>

#include "microkernels/dwconv/impl/int8_pairs.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels::RL_ISA {

// Returns the position of the weight of the first (0) or second (1) tap of a pair in a block of 16 channels.
RL_INLINE int64_t depthwise_position(int64_t channel, int64_t second) {
#if defined(__AVX512BW__)
  return channel * 2 + second;
#elif defined(__AVX2__)
  // The order that unpacking two vectors of 16 bits produces: channels 0 to 3 and 8 to 11, then the others.
  return channel / 4 % 2 * 16 + (channel / 8 * 4 + channel % 4) * 2 + second;
#elif defined(__aarch64__)
  return channel / 8 * 16 + second * 8 + channel % 8;
#elif defined(__wasm_simd128__)
  return channel * 2 + second;
#else
  return second * 16 + channel;
#endif
}

[[gnu::cold]] static void pack_depthwise(const int8_t* weights, int64_t stride, int64_t taps, int64_t channels,
                                         int16_t* to) {
  std::memset(to, 0, static_cast<size_t>((taps + 1) / 2 * 32) * sizeof(int16_t));
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      to[tap / 2 * 32 + depthwise_position(channel, tap % 2)] = weights[tap * stride + channel];
    }
  }
}

static void depthwise(const Int8DepthwiseTaps& d) {
  for (int64_t x = d.begin; x < d.end; ++x) {
    const int8_t* const* at = d.sources + x * d.stride;
    int32_t* sums = d.sums + (x - d.begin) * 16;
    RL_UNROLL for (int pass = 0; pass < kPasses; ++pass) {
      const int64_t channel = d.channel + pass * kPassChannels;
      const int16_t* weights = d.weights + pass * kPassNumbers;
#if defined(RL_PAIRS)
      PartSums acc[kParts] = {};
#else
      int32_t acc[16] = {};
#endif
      for (int64_t tap = 0; tap < d.taps; tap += 2, weights += 32) {
        const int8_t* first = at[d.offsets[tap]] + channel;
        const int8_t* second = tap + 1 < d.taps ? at[d.offsets[tap + 1]] + channel : first;
#if defined(RL_PAIRS)
        Part pairs[kParts];
        pair_up(load_channels(first), load_channels(second), pairs);
        RL_UNROLL for (int p = 0; p < kParts; ++p) add_pairs(acc[p], pairs[p], load_part(weights + kPartNumbers * p));
#else
        for (int c = 0; c < 16; ++c) acc[c] += first[c] * weights[c] + second[c] * weights[16 + c];
#endif
      }
#if defined(RL_PAIRS)
      store_channels(sums + pass * kPassChannels, acc);
#else
      std::memcpy(sums, acc, sizeof(acc));
#endif
    }
  }
}

// Sets the two taps of pair `pair`. The second tap is -1 if there is none.
RL_INLINE void taps_of_pair(int64_t pair, int64_t height, int64_t width, int64_t* first, int64_t* second) {
  const int64_t line = pair / width;
  if (line < height / 2) {
    *first = 2 * line * width + pair % width;
    *second = *first + width;
    return;
  }
  const int64_t x = 2 * (pair - height / 2 * width);
  *first = (height - 1) * width + x;
  *second = x + 1 < width ? *first + 1 : -1;
}

[[gnu::cold]] static void pack_depthwise_window(const int8_t* weights, int64_t stride, int64_t height, int64_t width,
                                                int64_t channels, int16_t* to) {
  const int64_t pairs = window_pairs(height, width);
  std::memset(to, 0, static_cast<size_t>(pairs * 32) * sizeof(int16_t));
  for (int64_t pair = 0; pair < pairs; ++pair) {
    int64_t taps[2];
    taps_of_pair(pair, height, width, &taps[0], &taps[1]);
    for (int64_t i = 0; i < 2; ++i) {
      if (taps[i] < 0) continue;
      for (int64_t channel = 0; channel < channels; ++channel) {
        to[pair * 32 + depthwise_position(channel, i)] = weights[taps[i] * stride + channel];
      }
    }
  }
}

#if defined(RL_PAIRS)

// The channels of two pixels as pairs. The pixels are above each other or side by side.
struct Paired {
  Part parts[kParts];
};
RL_INLINE Paired paired(Channels a, Channels b) {
  Paired pairs;
  pair_up(a, b, pairs.parts);
  return pairs;
}

#if !defined(RL_BLOCKS_3X3)

// Windows of 3 x 3 at stride 1 or 2. Pairs stay in registers for the next output.
template <int Stride>
RL_INLINE void depthwise_3x3_pass(const Int8DepthwiseWindow& d, int pass) {
  const int64_t columns = (d.count - 1) * Stride + 3, channel = d.channel + pass * kPassChannels;
  const int16_t* const weights = d.weights + pass * kPassNumbers;
  const int8_t* const* upper = d.sources;
  const int8_t* const* lower = upper + d.line;
  const int8_t* const* last = lower + d.line;
  const auto above = [&](int64_t j) {
    return paired(load_channels(upper[j] + channel), load_channels(lower[j] + channel));
  };
  const auto below = [&](int64_t j) { return load_channels(last[j] + channel); };
  Paired w[5];
  RL_UNROLL for (int i = 0; i < 5; ++i) RL_UNROLL for (int p = 0; p < kParts; ++p) {
    const Part part = load_part(weights + 32 * i + kPartNumbers * p);
    // At stride 1, the last tap is the second tap of the next output's first pair.
    w[i].parts[p] = i == 4 && Stride == 1 ? shift_pairs(part) : part;
  }
  Paired first = above(0), second = Stride == 1 ? above(1) : first;
  Channels here = below(1);
  Paired side = paired(below(0), here);
  int32_t* sums = d.sums + pass * kPassChannels;
  for (int64_t x = 0, j = 0; x < d.count; ++x, j += Stride, sums += 16) {
    if constexpr (Stride == 2) second = above(j + 1);
    const Paired third = above(j + 2);
    const Channels next = below(j + 2);
    Paired after;
    if constexpr (Stride == 1) {
      after = paired(here, next), here = next;
    } else {
      after = paired(next, j + 3 < columns ? below(j + 3) : next);
    }
    PartSums acc[kParts];
    RL_UNROLL for (int p = 0; p < kParts; ++p) {
      acc[p] = multiply_pairs(first.parts[p], w[0].parts[p]);
      add_pairs(acc[p], second.parts[p], w[1].parts[p]);
      add_pairs(acc[p], third.parts[p], w[2].parts[p]);
      add_pairs(acc[p], side.parts[p], w[3].parts[p]);
      add_pairs(acc[p], after.parts[p], w[4].parts[p]);
    }
    store_channels(sums, acc);
    side = after;
    if constexpr (Stride == 1) {
      first = second, second = third;
    } else {
      first = third;
    }
  }
}

template <int Stride>
static void depthwise_3x3(const Int8DepthwiseWindow& d) {
  for (int pass = 0; pass < kPasses; ++pass) depthwise_3x3_pass<Stride>(d, pass);
}

#endif

// The number of adjacent outputs that are multiplied by a weight at a time.
inline constexpr int kOutputs = kIsCompact ? 1 : 4;

// Adds the products of stored pairs for `Outputs` outputs, from output x on. A line of pairs has `columns` pairs.
template <int Outputs>
RL_INLINE void sum_pairs(const Int8DepthwiseWindow& d, int64_t columns, int pass, int64_t x) {
  const int64_t lines = d.height / 2, step = d.stride * kPassNumbers;
  const int16_t* weights = d.weights + pass * kPassNumbers;
  const int16_t* from = d.pairs + x * step;
  PartSums acc[Outputs][kParts] = {};
  for (int64_t line = 0; line < (d.height + 1) / 2; ++line, from += columns * kPassNumbers) {
    const int64_t by = line < lines ? 1 : 2;
    for (int64_t i = 0; i < d.width; i += by, weights += 32) {
      RL_UNROLL for (int p = 0; p < kParts; ++p) {
        const Part weight = load_part(weights + kPartNumbers * p);
        RL_UNROLL for (int o = 0; o < Outputs; ++o) {
          add_pairs(acc[o][p], load_part(from + o * step + kPassNumbers * i + kPartNumbers * p), weight);
        }
      }
    }
  }
  int32_t* const sums = d.sums + x * 16 + pass * kPassChannels;
  RL_UNROLL for (int o = 0; o < Outputs; ++o) store_channels(sums + o * 16, acc[o]);
}

static void depthwise_window_pass(const Int8DepthwiseWindow& d, int pass) {
  const int64_t columns = (d.count - 1) * d.stride + d.width, lines = d.height / 2;
  const int64_t channel = d.channel + pass * kPassChannels;
  int16_t* to = d.pairs;
  for (int64_t line = 0; line < lines; ++line) {
    const int8_t* const* upper = d.sources + 2 * line * d.line;
    const int8_t* const* lower = upper + d.line;
    for (int64_t j = 0; j < columns; ++j, to += kPassNumbers) {
      Part pairs[kParts];
      pair_up(load_channels(upper[j] + channel), load_channels(lower[j] + channel), pairs);
      store_pairs(to, pairs);
    }
  }
  if (d.height % 2 == 1) {
    const int8_t* const* last = d.sources + (d.height - 1) * d.line;
    Channels here = load_channels(last[0] + channel);
    for (int64_t j = 0; j < columns; ++j, to += kPassNumbers) {
      const Channels next = j + 1 < columns ? load_channels(last[j + 1] + channel) : here;
      Part pairs[kParts];
      pair_up(here, next, pairs);
      store_pairs(to, pairs);
      here = next;
    }
  }
  // The last outputs may overlap the outputs before them.
  if (d.count < kOutputs) {
    for (int64_t x = 0; x < d.count; ++x) sum_pairs<1>(d, columns, pass, x);
  } else {
    for (int64_t x = 0; x < d.count; x += kOutputs) {
      sum_pairs<kOutputs>(d, columns, pass, x + kOutputs <= d.count ? x : d.count - kOutputs);
    }
  }
}

static void depthwise_window(const Int8DepthwiseWindow& d) {
#if !defined(RL_BLOCKS_3X3)
  if (d.height == 3 && d.width == 3 && d.stride == 1) return depthwise_3x3<1>(d);
  if (d.height == 3 && d.width == 3 && d.stride == 2) return depthwise_3x3<2>(d);
#endif
  for (int pass = 0; pass < kPasses; ++pass) depthwise_window_pass(d, pass);
}

#else

static void depthwise_window(const Int8DepthwiseWindow& d) {
  for (int64_t x = 0; x < d.count; ++x) {
    int32_t acc[16] = {};
    const int16_t* w = d.weights;
    const auto add_tap = [&](int64_t line, int64_t column, const int16_t* weights) {
      const int8_t* from = d.sources[line * d.line + x * d.stride + column] + d.channel;
      for (int c = 0; c < 16; ++c) acc[c] += from[c] * weights[c];
    };
    int64_t line = 0;
    for (; line + 2 <= d.height; line += 2) {
      for (int64_t i = 0; i < d.width; ++i, w += 32) {
        add_tap(line, i, w);
        add_tap(line + 1, i, w + 16);
      }
    }
    if (line < d.height) {
      for (int64_t i = 0; i < d.width; i += 2, w += 32) {
        add_tap(line, i, w);
        if (i + 1 < d.width) add_tap(line, i + 1, w + 16);
      }
    }
    std::memcpy(d.sums + x * 16, acc, sizeof(acc));
  }
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
