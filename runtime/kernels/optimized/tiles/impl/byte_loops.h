// Loops of ByteLoops, in namespace rushlight::tiles::RL_TILES_ISA, which has what byte_rows.h asks for.
#pragma once

#include <cstring>

#include "kernels/optimized/tiles/byte_loops.h"
#include "kernels/optimized/tiles/impl/byte_rows.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

RL_INLINE Lanes widen(const int8_t* p) {
#if defined(__AVX2__)
  const __m128i bytes = kLanes == 8 ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))
                                    : _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
#if defined(__AVX512BW__)
  // The masked form is the one that GCC 12 does not warn of.
  const __m512i wide = _mm512_maskz_cvtepi8_epi32(0xffff, bytes);
#else
  const __m256i wide = _mm256_cvtepi8_epi32(bytes);
#endif
  static_assert(sizeof(wide) == sizeof(Lanes));
  Lanes lanes;
  std::memcpy(&lanes, &wide, sizeof(lanes));
  return lanes;
#else
  typedef int8_t LooseBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const LooseBytes*>(p), Lanes);
#endif
}

// Bounds as reals before the zero point is added, and what makes the bits of a rounded number the number.
struct Clamp {
  float least, most;
  int32_t zero;
};

RL_INLINE Clamp clamp_of(const ByteRange& range) {
  return {static_cast<float>(range.least - range.zero), static_cast<float>(range.most - range.zero),
          range.zero - kRoundingBits};
}

RL_INLINE void store_rounded(int8_t* to, Reals x, const Clamp& clamp) {
  const Reals least = clamp.least - Reals{}, most = clamp.most - Reals{};
  x = x > least ? x : least;
  x = x < most ? x : most;
  store_narrow(reinterpret_cast<uint8_t*>(to), Narrowed(reinterpret_cast<Lanes>(x + kRounding) + clamp.zero));
}

RL_INLINE int8_t rounded(float x, const Clamp& clamp) {
  x = x > clamp.least ? x : clamp.least;
  x = (x < clamp.most ? x : clamp.most) + kRounding;
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<int8_t>(bits + clamp.zero);
}

static void quantize(const float* from, int64_t n, float factor, const ByteRange& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_rounded(to + i, load_reals(from + i) * factor, clamp);
  for (; i < n; ++i) to[i] = rounded(from[i] * factor, clamp);
}

static void expand(const int8_t* from, int64_t n, int32_t zero, float scale, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    *reinterpret_cast<LooseReals*>(to + i) = __builtin_convertvector(widen(from + i) - zero, Reals) * scale;
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i] - zero) * scale;
}

static void widen_range(const float* from, int64_t n, float* least, float* most) {
  Reals low[2] = {*least - Reals{}, *least - Reals{}}, high[2] = {*most - Reals{}, *most - Reals{}};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    RL_UNROLL for (int j = 0; j < 2; ++j) {
      const Reals x = load_reals(from + i + j * kLanes);
      low[j] = x < low[j] ? x : low[j];
      high[j] = x > high[j] ? x : high[j];
    }
  }
  float smallest = *least, largest = *most;
  RL_UNROLL for (int j = 0; j < 2; ++j) {
    for (int lane = 0; lane < kLanes; ++lane) {
      smallest = low[j][lane] < smallest ? low[j][lane] : smallest;
      largest = high[j][lane] > largest ? high[j][lane] : largest;
    }
  }
  for (; i < n; ++i) {
    smallest = from[i] < smallest ? from[i] : smallest;
    largest = from[i] > largest ? from[i] : largest;
  }
  *least = smallest;
  *most = largest;
}

static void add(const int8_t* a, const int8_t* b, int64_t n, float a_factor, float b_factor, float offset,
                const ByteRange& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Reals x = __builtin_convertvector(widen(a + i), Reals) * a_factor + offset;
    store_rounded(to + i, __builtin_convertvector(widen(b + i), Reals) * b_factor + x, clamp);
  }
  for (; i < n; ++i) {
    const float x = static_cast<float>(a[i]) * a_factor + offset;
    to[i] = rounded(static_cast<float>(b[i]) * b_factor + x, clamp);
  }
}

static void multiply(const int8_t* a, const int8_t* b, int64_t n, int32_t a_zero, int32_t b_zero, float factor,
                     const ByteRange& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Reals x = __builtin_convertvector(widen(a + i) - a_zero, Reals);
    store_rounded(to + i, x * __builtin_convertvector(widen(b + i) - b_zero, Reals) * factor, clamp);
  }
  for (; i < n; ++i) {
    to[i] = rounded(static_cast<float>(a[i] - a_zero) * static_cast<float>(b[i] - b_zero) * factor, clamp);
  }
}

static void maximum(const int8_t* const* rows, int64_t count, int64_t n, int32_t least, int32_t most, int8_t* to) {
  typedef int8_t Bytes __attribute__((vector_size(16)));
  typedef int8_t LooseBytes __attribute__((vector_size(16), aligned(1), may_alias));
  const int8_t low = static_cast<int8_t>(least), high = static_cast<int8_t>(most);
  const Bytes lowest = low - Bytes{}, highest = high - Bytes{};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Bytes x = lowest;
    for (int64_t row = 0; row < count; ++row) {
      const Bytes y = *reinterpret_cast<const LooseBytes*>(rows[row] + i);
      x = x > y ? x : y;
    }
    *reinterpret_cast<LooseBytes*>(to + i) = x < highest ? x : highest;
  }
  for (; i < n; ++i) {
    int8_t x = low;
    for (int64_t row = 0; row < count; ++row) x = x > rows[row][i] ? x : rows[row][i];
    to[i] = x < high ? x : high;
  }
}

static void add_rows(const int8_t* from, int64_t rows, int64_t stride, int64_t n, int32_t* sums) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Lanes sum = load_lanes(sums + i);
    for (int64_t row = 0; row < rows; ++row) sum += widen(from + row * stride + i);
    *reinterpret_cast<LooseLanes*>(sums + i) = sum;
  }
  for (; i < n; ++i) {
    for (int64_t row = 0; row < rows; ++row) sums[i] += from[row * stride + i];
  }
}

// Where the weight of a pair's first or second tap lies.
RL_INLINE int64_t depthwise_place(int64_t channel, int64_t second) {
#if defined(__AVX2__)
  // As unpacking two vectors of 16 bits leaves them: the channels 0 to 3 and 8 to 11, then the others.
  return channel / 4 % 2 * 16 + (channel / 8 * 4 + channel % 4) * 2 + second;
#else
  return second * 16 + channel;
#endif
}

static void pack_depthwise(const int8_t* weights, int64_t stride, int64_t taps, int64_t channels, int16_t* to) {
  std::memset(to, 0, static_cast<size_t>((taps + 1) / 2 * 32) * sizeof(int16_t));
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      to[tap / 2 * 32 + depthwise_place(channel, tap % 2)] = weights[tap * stride + channel];
    }
  }
}

static void depthwise(const ByteTaps& d) {
  for (int64_t x = d.begin; x < d.end; ++x) {
    const int8_t* const* at = d.sources + x * d.stride;
    int32_t* sums = d.sums + (x - d.begin) * 16;
    const int16_t* weights = d.weights;
#if defined(__AVX2__)
    __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    for (int64_t tap = 0; tap < d.taps; tap += 2, weights += 32) {
      const int8_t* first = at[d.offsets[tap]] + d.channel;
      const int8_t* second = tap + 1 < d.taps ? at[d.offsets[tap + 1]] + d.channel : first;
      const __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
      const __m256i b = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)));
      const __m256i* pairs = reinterpret_cast<const __m256i*>(weights);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pairs[0]));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pairs[1]));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 8), _mm256_permute2x128_si256(low, high, 0x31));
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

// The taps of pair `pair`, the second -1 if there is none.
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
        to[pair * 32 + depthwise_place(channel, i)] = weights[taps[i] * stride + channel];
      }
    }
  }
}

#if defined(__AVX2__)

RL_INLINE __m256i widened(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

RL_INLINE void store_pairs(int16_t* to, __m256i a, __m256i b) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm256_unpacklo_epi16(a, b));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to + 16), _mm256_unpackhi_epi16(a, b));
}

RL_INLINE __m256i load_pairs(const int16_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }

RL_INLINE void store_window_sums(int32_t* to, __m256i low, __m256i high) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), _mm256_permute2x128_si256(low, high, 0x31));
}

static void depthwise_window(const ByteWindowTaps& d) {
  const int64_t columns = (d.count - 1) * d.stride + d.width, lines = d.height / 2;
  int16_t* to = d.pairs;
  for (int64_t line = 0; line < lines; ++line) {
    const int8_t* const* upper = d.sources + 2 * line * d.line;
    const int8_t* const* lower = upper + d.line;
    for (int64_t j = 0; j < columns; ++j, to += 32) {
      store_pairs(to, widened(upper[j] + d.channel), widened(lower[j] + d.channel));
    }
  }
  if (d.height % 2 == 1) {
    const int8_t* const* last = d.sources + (d.height - 1) * d.line;
    __m256i here = widened(last[0] + d.channel);
    for (int64_t j = 0; j < columns; ++j, to += 32) {
      const __m256i next = j + 1 < columns ? widened(last[j + 1] + d.channel) : here;
      store_pairs(to, here, next);
      here = next;
    }
  }
  const int64_t step = d.stride * 32;
  if (d.height == 3 && d.width == 3) {
    __m256i w[10];
    RL_UNROLL for (int i = 0; i < 10; ++i) w[i] = load_pairs(d.weights + 16 * i);
    const int16_t* upper = d.pairs;
    const int16_t* last = d.pairs + columns * 32;
    for (int64_t x = 0; x < d.count; ++x, upper += step, last += step) {
      __m256i low = _mm256_madd_epi16(load_pairs(upper), w[0]), high = _mm256_madd_epi16(load_pairs(upper + 16), w[1]);
      RL_UNROLL for (int i = 1; i < 3; ++i) {
        low = _mm256_add_epi32(low, _mm256_madd_epi16(load_pairs(upper + 32 * i), w[2 * i]));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(load_pairs(upper + 32 * i + 16), w[2 * i + 1]));
      }
      RL_UNROLL for (int i = 0; i < 2; ++i) {
        low = _mm256_add_epi32(low, _mm256_madd_epi16(load_pairs(last + 64 * i), w[6 + 2 * i]));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(load_pairs(last + 64 * i + 16), w[7 + 2 * i]));
      }
      store_window_sums(d.sums + x * 16, low, high);
    }
    return;
  }
  for (int64_t x = 0; x < d.count; ++x) {
    __m256i low = _mm256_setzero_si256(), high = low;
    const int16_t* w = d.weights;
    const int16_t* from = d.pairs + x * step;
    for (int64_t line = 0; line < (d.height + 1) / 2; ++line, from += columns * 32) {
      const int64_t by = line < lines ? 1 : 2;
      for (int64_t i = 0; i < d.width; i += by, w += 32) {
        low = _mm256_add_epi32(low, _mm256_madd_epi16(load_pairs(from + 32 * i), load_pairs(w)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(load_pairs(from + 32 * i + 16), load_pairs(w + 16)));
      }
    }
    store_window_sums(d.sums + x * 16, low, high);
  }
}

#else

static void depthwise_window(const ByteWindowTaps& d) {
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

static constexpr ByteLoops make_byte_loops() {
  return {&quantize,       &expand,           &widen_range,          &add, &multiply, &maximum, &add_rows, &depthwise,
          &pack_depthwise, &depthwise_window, &pack_depthwise_window};
}

}  // namespace rushlight::tiles::RL_TILES_ISA
