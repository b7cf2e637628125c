// The depthwise convolutions of Int8Loops, in namespace rushlight::microkernels::RL_ISA.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels::RL_ISA {

// Channels: a vector of 16 numbers. Part: a vector of pairs of int16 or of their int32 sums. kParts vectors of type
// Part contain the pairs or sums of 16 channels.
#if defined(__AVX512BW__)

using Channels = __m128i;
using Part = __m512i;
inline constexpr int kParts = 1;

RL_INLINE Channels load_channels(const int8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) {
  const __m256i low = _mm256_castsi128_si256(_mm_unpacklo_epi8(a, b));
  pairs[0] = _mm512_cvtepi8_epi16(_mm256_inserti128_si256(low, _mm_unpackhi_epi8(a, b), 1));
}
RL_INLINE Part multiply_words(Part a, Part b) { return _mm512_madd_epi16(a, b); }
RL_INLINE Part add_parts(Part a, Part b) { return _mm512_add_epi32(a, b); }
// Returns the pair (0, a) for each pair (a, b).
RL_INLINE Part shift_pairs(Part pairs) { return _mm512_maskz_slli_epi32(0xffff, pairs, 16); }
RL_INLINE void store_channels(int32_t* to, const Part (&sums)[kParts]) { _mm512_storeu_si512(to, sums[0]); }

#elif defined(__AVX2__)

using Channels = __m256i;
using Part = __m256i;
inline constexpr int kParts = 2;

RL_INLINE Channels load_channels(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) {
  pairs[0] = _mm256_unpacklo_epi16(a, b);
  pairs[1] = _mm256_unpackhi_epi16(a, b);
}
RL_INLINE Part multiply_words(Part a, Part b) { return _mm256_madd_epi16(a, b); }
RL_INLINE Part add_parts(Part a, Part b) { return _mm256_add_epi32(a, b); }
// Returns the pair (0, a) for each pair (a, b).
RL_INLINE Part shift_pairs(Part pairs) { return _mm256_slli_epi32(pairs, 16); }
RL_INLINE void store_channels(int32_t* to, const Part (&sums)[kParts]) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute2x128_si256(sums[0], sums[1], 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), _mm256_permute2x128_si256(sums[0], sums[1], 0x31));
}

#endif

#if defined(__AVX2__)
// Pairs are aligned to 32 bytes.
RL_INLINE Part load_part(const int16_t* from) {
  if constexpr (kParts == 2) return *reinterpret_cast<const Part*>(from);
  Part part;
  std::memcpy(&part, from, sizeof(part));
  return part;
}
RL_INLINE void store_pairs(int16_t* to, const Part (&pairs)[kParts]) {
  RL_UNROLL for (int p = 0; p < kParts; ++p) std::memcpy(to + 16 * p, &pairs[p], sizeof(Part));
}
RL_INLINE void add_words(Part& sums, Part a, Part b) { sums = add_parts(sums, multiply_words(a, b)); }
#endif

// Returns the position of the weight of the first (0) or second (1) tap of a pair in a block of 16 channels.
RL_INLINE int64_t depthwise_position(int64_t channel, int64_t second) {
#if defined(__AVX512BW__)
  return channel * 2 + second;
#elif defined(__AVX2__)
  // The order that unpacking two vectors of 16 bits produces: channels 0 to 3 and 8 to 11, then the others.
  return channel / 4 % 2 * 16 + (channel / 8 * 4 + channel % 4) * 2 + second;
#else
  return second * 16 + channel;
#endif
}

static void pack_depthwise(const int8_t* weights, int64_t stride, int64_t taps, int64_t channels, int16_t* to) {
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
    const int16_t* weights = d.weights;
#if defined(__AVX2__)
    Part acc[kParts] = {};
    for (int64_t tap = 0; tap < d.taps; tap += 2, weights += 32) {
      const int8_t* first = at[d.offsets[tap]] + d.channel;
      const int8_t* second = tap + 1 < d.taps ? at[d.offsets[tap + 1]] + d.channel : first;
      Part pairs[kParts];
      pair_up(load_channels(first), load_channels(second), pairs);
      RL_UNROLL for (int p = 0; p < kParts; ++p) add_words(acc[p], pairs[p], load_part(weights + 16 * p));
    }
    store_channels(sums, acc);
#else
    int32_t acc[16] = {};
    for (int64_t tap = 0; tap < d.taps; tap += 2, weights += 32) {
      const int8_t* first = at[d.offsets[tap]] + d.channel;
      const int8_t* second = tap + 1 < d.taps ? at[d.offsets[tap + 1]] + d.channel : first;
      for (int c = 0; c < 16; ++c) acc[c] += first[c] * weights[c] + second[c] * weights[16 + c];
    }
    std::memcpy(sums, acc, sizeof(acc));
#endif
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

static void pack_depthwise_window(const int8_t* weights, int64_t stride, int64_t height, int64_t width,
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

#if defined(__AVX2__)

// The channels of two pixels as pairs. The pixels are above each other or side by side.
struct Paired {
  Part parts[kParts];
};
RL_INLINE Paired paired(Channels a, Channels b) {
  Paired pairs;
  pair_up(a, b, pairs.parts);
  return pairs;
}

// Windows of 3 x 3 at stride 1 or 2. Pairs stay in registers for the next output.
template <int Stride>
static void depthwise_3x3(const Int8DepthwiseWindow& d) {
  const int64_t columns = (d.count - 1) * Stride + 3, channel = d.channel;
  const int8_t* const* upper = d.sources;
  const int8_t* const* lower = upper + d.line;
  const int8_t* const* last = lower + d.line;
  const auto above = [&](int64_t j) {
    return paired(load_channels(upper[j] + channel), load_channels(lower[j] + channel));
  };
  const auto below = [&](int64_t j) { return load_channels(last[j] + channel); };
  Paired w[5];
  RL_UNROLL for (int i = 0; i < 5; ++i) RL_UNROLL for (int p = 0; p < kParts; ++p) {
    const Part part = load_part(d.weights + 32 * i + 16 * p);
    // At stride 1, the last tap is the second tap of the next output's first pair.
    w[i].parts[p] = i == 4 && Stride == 1 ? shift_pairs(part) : part;
  }
  Paired first = above(0), second = Stride == 1 ? above(1) : first;
  Channels here = below(1);
  Paired side = paired(below(0), here);
  for (int64_t x = 0, j = 0; x < d.count; ++x, j += Stride) {
    if constexpr (Stride == 2) second = above(j + 1);
    const Paired third = above(j + 2);
    const Channels next = below(j + 2);
    Paired after;
    if constexpr (Stride == 1) {
      after = paired(here, next), here = next;
    } else {
      after = paired(next, j + 3 < columns ? below(j + 3) : next);
    }
    Part acc[kParts];
    RL_UNROLL for (int p = 0; p < kParts; ++p) {
      acc[p] = multiply_words(first.parts[p], w[0].parts[p]);
      add_words(acc[p], second.parts[p], w[1].parts[p]);
      add_words(acc[p], third.parts[p], w[2].parts[p]);
      add_words(acc[p], side.parts[p], w[3].parts[p]);
      add_words(acc[p], after.parts[p], w[4].parts[p]);
    }
    store_channels(d.sums + x * 16, acc);
    side = after;
    if constexpr (Stride == 1) {
      first = second, second = third;
    } else {
      first = third;
    }
  }
}

static void depthwise_window(const Int8DepthwiseWindow& d) {
  if (d.height == 3 && d.width == 3 && d.stride == 1) return depthwise_3x3<1>(d);
  if (d.height == 3 && d.width == 3 && d.stride == 2) return depthwise_3x3<2>(d);
  const int64_t columns = (d.count - 1) * d.stride + d.width, lines = d.height / 2;
  int16_t* to = d.pairs;
  for (int64_t line = 0; line < lines; ++line) {
    const int8_t* const* upper = d.sources + 2 * line * d.line;
    const int8_t* const* lower = upper + d.line;
    for (int64_t j = 0; j < columns; ++j, to += 32) {
      Part pairs[kParts];
      pair_up(load_channels(upper[j] + d.channel), load_channels(lower[j] + d.channel), pairs);
      store_pairs(to, pairs);
    }
  }
  if (d.height % 2 == 1) {
    const int8_t* const* last = d.sources + (d.height - 1) * d.line;
    Channels here = load_channels(last[0] + d.channel);
    for (int64_t j = 0; j < columns; ++j, to += 32) {
      const Channels next = j + 1 < columns ? load_channels(last[j + 1] + d.channel) : here;
      Part pairs[kParts];
      pair_up(here, next, pairs);
      store_pairs(to, pairs);
      here = next;
    }
  }
  const int64_t step = d.stride * 32;
  for (int64_t x = 0; x < d.count; ++x) {
    Part acc[kParts] = {};
    const int16_t* w = d.weights;
    const int16_t* from = d.pairs + x * step;
    for (int64_t line = 0; line < (d.height + 1) / 2; ++line, from += columns * 32) {
      const int64_t by = line < lines ? 1 : 2;
      for (int64_t i = 0; i < d.width; i += by, w += 32) {
        RL_UNROLL for (int p = 0; p < kParts; ++p) {
          add_words(acc[p], load_part(from + 32 * i + 16 * p), load_part(w + 16 * p));
        }
      }
    }
    store_channels(d.sums + x * 16, acc);
  }
}

#else

static void depthwise_window(const Int8DepthwiseWindow& d) {
  const int64_t pairs = window_pairs(d.height, d.width);
  for (int64_t x = 0; x < d.count; ++x) {
    int32_t acc[16] = {};
    for (int64_t pair = 0; pair < pairs; ++pair) {
      int64_t taps[2];
      taps_of_pair(pair, d.height, d.width, &taps[0], &taps[1]);
      for (int64_t i = 0; i < 2; ++i) {
        if (taps[i] < 0) continue;
        const int8_t* from = d.sources[taps[i] / d.width * d.line + x * d.stride + taps[i] % d.width] + d.channel;
        const int16_t* w = d.weights + pair * 32 + i * 16;
        for (int c = 0; c < 16; ++c) acc[c] += from[c] * w[c];
      }
    }
    std::memcpy(d.sums + x * 16, acc, sizeof(acc));
  }
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
