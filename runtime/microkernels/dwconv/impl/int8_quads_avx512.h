// Depthwise convolutions with AVX-512 VNNI for windows of several sizes, in namespace rushlight::microkernels::RL_ISA.
// That namespace defines the names that simd/int8_results_avx512.h needs. The bytes of four taps are next to each other
// for vpdpbusd: four lines of one column or, for a single last line, four columns of this line. These quads are written
// to scratch memory once, because several outputs read them. Four vectors contain the quads of 64 channels of a pixel.
// Their sums of channels 16 l + 4 q + i are in lane l of vector q; narrowing restores the order of the channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "microkernels/simd/inline.h"
#include "microkernels/simd/int8_results_avx512.h"
#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels::RL_ISA {

// The weights follow: [products, 4 vectors, 64].
struct alignas(64) QuadBlock {
  int32_t correction[4][16];
  float multiplier[4][16], offset[4][16];
  int32_t zero, least, most;
  bool limited;  // no scaled sum exceeds 32 bits
};
static_assert(sizeof(QuadBlock) <= kDepthwiseQuadHead);

[[gnu::cold]] static void pack_depthwise_quads(const Int8DepthwiseWeights& from, int64_t height, int64_t width,
                                               void* to) {
  QuadBlock& b = *static_cast<QuadBlock*>(to);
  uint8_t* const weights = static_cast<uint8_t*>(to) + kDepthwiseQuadHead;
  const DepthwiseQuads quads{height, width};
  std::memset(to, 0, static_cast<size_t>(quads.block_bytes()));
  b.zero = from.range->zero, b.least = from.range->least, b.most = from.range->most;
  b.limited = true;
  for (int64_t channel = 0; channel < from.channels; ++channel) {
    const int64_t q = channel % 16 / 4, lane = channel / 16 * 4 + channel % 4;
    int64_t sum = 0, magnitudes = 0;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int8_t weight = from.weights[(y * width + x) * from.weight_stride + channel];
        const bool is_across = quads.has_across() && y == height - 1;
        const int64_t product = is_across ? quads.groups() * width + x / 4 : y / 4 * width + x;
        weights[(product * 4 + q) * 64 + lane * 4 + (is_across ? x : y) % 4] = static_cast<uint8_t>(weight);
        sum += weight, magnitudes += std::abs(weight);
      }
    }
    const int64_t bias = from.bias ? from.bias[channel] : 0;
    const int64_t exact = bias - int64_t{from.zero + 128} * sum;
    b.correction[q][lane] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
    b.multiplier[q][lane] = from.multiplier[channel];
    b.offset[q][lane] = from.offset ? from.offset[channel] : 0.0f;
    const float most = static_cast<float>(512 * magnitudes + std::abs(bias));  // largest magnitude of a sum
    b.limited = b.limited && std::fabs(b.multiplier[q][lane]) * most < 0x1p30f && b.offset[q][lane] < 536870912.0f;
  }
}

// Writes the quads of 64 channels of four pixels.
RL_INLINE void store_quads(const int8_t* const (&pixels)[4], __mmask64 mask, uint8_t* to) {
  const __m512i sign_mask = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i x[4];
  RL_UNROLL for (int i = 0; i < 4; ++i) x[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, pixels[i]), sign_mask);
  const __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i last_low = _mm512_unpacklo_epi8(x[2], x[3]), last_high = _mm512_unpackhi_epi8(x[2], x[3]);
  _mm512_store_si512(to, _mm512_unpacklo_epi16(low, last_low));
  _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(low, last_low));
  _mm512_store_si512(to + 128, _mm512_unpacklo_epi16(high, last_high));
  _mm512_store_si512(to + 192, _mm512_unpackhi_epi16(high, last_high));
}

// Writes the quads that `count` outputs read: [groups of lines, columns], followed by those of the last line.
static void make_quads(const Int8DepthwiseQuads& d, const DepthwiseQuads& quads, __mmask64 mask) {
  const int64_t columns = quads.columns(d.count, d.stride);
  uint8_t* to = d.quads;
  const auto pixel = [&](int64_t y, int64_t x) { return d.sources[y * d.line + x] + d.channel; };
  for (int64_t y = 0; y < 4 * quads.groups(); y += 4) {
    // The weights of lines beyond the window are 0.
    const auto line = [&](int64_t i) { return std::min(y + i, d.height - 1); };
    for (int64_t x = 0; x < columns; ++x, to += 256) {
      store_quads({pixel(y, x), pixel(line(1), x), pixel(line(2), x), pixel(line(3), x)}, mask, to);
    }
  }
  if (!quads.has_across()) return;
  for (int64_t x = 0; x < columns; ++x, to += 256) {
    const auto column = [&](int64_t i) { return pixel(d.height - 1, std::min(x + i, columns - 1)); };
    store_quads({column(0), column(1), column(2), column(3)}, mask, to);
  }
}

// Adds the products of `count` quads, which are `step` bytes apart, for four outputs.
RL_INLINE const uint8_t* add_quads_of(__m512i (&sums)[4], const uint8_t* from, const int64_t (&at)[4], int64_t step,
                                      int64_t count, const uint8_t* weights) {
  for (int64_t i = 0; i < count; ++i, from += step, weights += 256) {
    const __m512i weight = _mm512_load_si512(weights);
    RL_UNROLL for (int o = 0; o < 4; ++o) {
      const __m512i numbers = _mm512_load_si512(from + at[o]);
      asm("vpdpbusd %2, %1, %0" : "+v"(sums[o]) : "v"(numbers), "v"(weight));
    }
  }
  return weights;
}

template <bool Limited>
static void multiply_quads(const Int8DepthwiseQuads& d, const DepthwiseQuads& quads, __mmask64 mask) {
  const QuadBlock& b = *static_cast<const QuadBlock*>(d.block);
  const uint8_t* const head = static_cast<const uint8_t*>(d.block) + kDepthwiseQuadHead;
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(b.zero));
  const __m512i least = _mm512_set1_epi8(static_cast<char>(b.least)),
                most = _mm512_set1_epi8(static_cast<char>(b.most));
  const int64_t line = quads.columns(d.count, d.stride) * 256, groups = quads.groups();
  for (int64_t x = 0; x < d.count; x += 4) {
    int64_t at[4];
    RL_UNROLL for (int o = 0; o < 4; ++o) at[o] = std::min(x + o, d.count - 1) * d.stride * 256;
    __m512i numbers[4][4];
    RL_UNROLL for (int q = 0; q < 4; ++q) {
      __m512i sums[4];
      RL_UNROLL for (int o = 0; o < 4; ++o) sums[o] = _mm512_load_si512(b.correction[q]);
      const uint8_t* from = d.quads + 64 * q;
      const uint8_t* weights = head + 64 * q;
      for (int64_t g = 0; g < groups; ++g, from += line) {
        weights = add_quads_of(sums, from, at, 256, d.width, weights);
      }
      if (quads.has_across()) add_quads_of(sums, from, at, 4 * 256, (d.width + 3) / 4, weights);
      const __m512 multiplier = _mm512_load_ps(b.multiplier[q]), offset = _mm512_load_ps(b.offset[q]);
      RL_UNROLL for (int o = 0; o < 4; ++o) {
        numbers[q][o] = numbers_of<Limited>(_mm512_fmadd_ps(reals_of_sums(sums[o]), multiplier, offset));
      }
    }
    RL_UNROLL for (int o = 0; o < 4; ++o) {
      const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(numbers[0][o], numbers[1][o]), zero);
      const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(numbers[2][o], numbers[3][o]), zero);
      const __m512i bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, second), least), most);
      if (x + o < d.count) _mm512_mask_storeu_epi8(d.out + (x + o) * d.out_stride, mask, bytes);
    }
  }
}

static void depthwise_quads(const Int8DepthwiseQuads& d) {
  const DepthwiseQuads quads{d.height, d.width};
  const __mmask64 mask = d.channels >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.channels) - 1;
  make_quads(d, quads, mask);
  static_cast<const QuadBlock*>(d.block)->limited ? multiply_quads<true>(d, quads, mask)
                                                  : multiply_quads<false>(d, quads, mask);
}

}  // namespace rushlight::microkernels::RL_ISA
