// 3 x 3 depthwise convolutions with AVX-512 VNNI, in namespace rushlight::microkernels::RL_ISA, which defines
// add_products() and the names that simd/int8_results_avx512.h needs. A vector contains 64 channels of one pixel, 32
// channels of two pixels, or 16 channels of four pixels. For vpdpbusd, the bytes of three lines are next to each other.
// Its sums of channels 16 l + 4 q + i are in lane l of vector q; narrowing restores the order of the channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "microkernels/simd/inline.h"
#include "microkernels/simd/int8_results_avx512.h"
#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels::RL_ISA {

struct alignas(64) Block3x3 {
  // [output row, column of taps]: three weights of each channel, followed (row 0) or preceded (row 1) by 0.
  int8_t weights[2][3][4][64];
  int32_t correction[4][16];
  float multiplier[4][16], offset[4][16];
  int32_t zero, least, most;
  bool limited;  // no scaled sum exceeds 32 bits
};
static_assert(sizeof(Block3x3) <= kDepthwise3x3Bytes);

// Returns the number of channels of a block, if so many channels of the image remain.
RL_INLINE int64_t width_3x3(int64_t channels) { return channels > 32 ? 64 : channels > 16 ? 32 : 16; }

[[gnu::cold]] static void pack_depthwise_3x3(const Int8DepthwiseWeights& from, void* to) {
  Block3x3& b = *static_cast<Block3x3*>(to);
  std::memset(&b, 0, sizeof(b));
  b.zero = from.range->zero, b.least = from.range->least, b.most = from.range->most;
  b.limited = true;
  for (int64_t byte = 0; byte < 64; ++byte) {
    const int64_t channel = byte % width_3x3(from.channels);
    if (channel >= from.channels) continue;
    const int64_t q = byte % 16 / 4, lane = byte / 16 * 4 + byte % 4;
    int32_t sum = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int8_t weight = from.weights[tap * from.weight_stride + channel];
      RL_UNROLL for (int row = 0; row < 2; ++row) b.weights[row][tap % 3][q][lane * 4 + tap / 3 + row] = weight;
      sum += weight;
    }
    const int64_t bias = from.bias ? from.bias[channel] : 0;
    const int64_t exact = bias - int64_t{from.zero + 128} * sum;
    b.correction[q][lane] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
    b.multiplier[q][lane] = from.multiplier[channel];
    b.offset[q][lane] = from.offset ? from.offset[channel] : 0.0f;
    const float most = static_cast<float>((1 << 19) + std::abs(bias));  // largest magnitude of a sum
    b.limited = b.limited && std::fabs(b.multiplier[q][lane]) * most < 0x1p30f && b.offset[q][lane] < 536870912.0f;
  }
}

// The bytes of one column of four lines, interleaved.
struct Quads {
  __m512i q[4];
};

// Whole: all lanes of the mask are set.
template <int Pixels, bool Whole>
RL_INLINE __m512i load_pixels(const int8_t* const* from, const int64_t (&at)[Pixels], int64_t column, int64_t channel,
                              __mmask64 mask) {
  if constexpr (Pixels == 1) {
    const int8_t* const pixel = from[at[0] + column] + channel;
    return Whole ? _mm512_loadu_si512(pixel) : _mm512_maskz_loadu_epi8(mask, pixel);
  } else if constexpr (Pixels == 2) {
    const auto part = [&](int p) {
      return _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from[at[p] + column] + channel);
    };
    return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(part(0)), part(1), 1);
  } else {
    const auto part = [&](int p) {
      return _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), from[at[p] + column] + channel);
    };
    __m512i x = _mm512_castsi128_si512(part(0));
    x = _mm512_maskz_inserti32x4(0xffff, x, part(1), 1);
    x = _mm512_maskz_inserti32x4(0xffff, x, part(2), 2);
    return _mm512_maskz_inserti32x4(0xffff, x, part(3), 3);
  }
}

// Loads a column for `Rows` rows of results.
template <int Pixels, int Rows, bool Whole>
RL_INLINE Quads quads_of(const Int8Depthwise3x3& d, const int64_t (&at)[Pixels], int64_t column, __mmask64 mask) {
  const __m512i sign_mask = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i x[4];
  RL_UNROLL for (int y = 0; y < Rows + 2; ++y) {
    x[y] = _mm512_xor_si512(load_pixels<Pixels, Whole>(d.sources + y * d.line, at, column, d.channel, mask), sign_mask);
  }
  const __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
  if constexpr (Rows == 1) x[3] = x[2];  // its weight is 0
  const __m512i last_low = _mm512_unpacklo_epi8(x[2], x[3]), last_high = _mm512_unpackhi_epi8(x[2], x[3]);
  return {{_mm512_unpacklo_epi16(low, last_low), _mm512_unpackhi_epi16(low, last_low),
           _mm512_unpacklo_epi16(high, last_high), _mm512_unpackhi_epi16(high, last_high)}};
}

template <int Pixels, bool Whole>
RL_INLINE void store_pixels(int8_t* to, int64_t stride, int64_t count, __mmask64 mask, __m512i bytes) {
  if constexpr (Pixels == 1) {
    if (Whole) return _mm512_storeu_si512(to, bytes);
    _mm512_mask_storeu_epi8(to, mask, bytes);
  } else if constexpr (Pixels == 2) {
    const auto half = static_cast<__mmask32>(mask);
    _mm256_mask_storeu_epi8(to, half, _mm512_maskz_extracti64x4_epi64(0xf, bytes, 0));
    if (count > 1) _mm256_mask_storeu_epi8(to + stride, half, _mm512_maskz_extracti64x4_epi64(0xf, bytes, 1));
  } else {
    const auto store = [&](int p, __m128i part) {
      if (p < count) _mm_mask_storeu_epi8(to + p * stride, static_cast<__mmask16>(mask), part);
    };
    store(0, _mm512_maskz_extracti32x4_epi32(0xf, bytes, 0));
    store(1, _mm512_maskz_extracti32x4_epi32(0xf, bytes, 1));
    store(2, _mm512_maskz_extracti32x4_epi32(0xf, bytes, 2));
    store(3, _mm512_maskz_extracti32x4_epi32(0xf, bytes, 3));
  }
}

template <int Pixels, int Stride, int Rows, bool Limited, bool Whole>
static void columns_3x3(const Int8Depthwise3x3& block) {
  const Int8Depthwise3x3 d = block;  // a copy, because compilers must assume that stores of bytes change `block`
  const Block3x3* place = static_cast<const Block3x3*>(d.block);
  const __mmask64 mask = d.channels >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.channels) - 1;
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(place->zero));
  const __m512i least = _mm512_set1_epi8(static_cast<char>(place->least)),
                most = _mm512_set1_epi8(static_cast<char>(place->most));
  // The number of columns that the next outputs also read.
  constexpr int kKept = Pixels * Stride < 3 ? 3 - Pixels * Stride : 0;
  Quads columns[3];
  for (int64_t x = 0; x < d.count; x += Pixels) {
    int64_t at[Pixels];
    RL_UNROLL for (int p = 0; p < Pixels; ++p) at[p] = (x + p < d.count ? x + p : d.count - 1) * Stride;
    if (x == 0) {
      RL_UNROLL for (int k = 0; k < kKept; ++k) columns[k] = quads_of<Pixels, Rows, Whole>(d, at, k, mask);
    }
    RL_UNROLL for (int k = kKept; k < 3; ++k) columns[k] = quads_of<Pixels, Rows, Whole>(d, at, k, mask);
    // Stops compilers from keeping the address of every weight in a register.
    asm volatile("" : "+r"(place));
    const Block3x3& b = *place;
    RL_UNROLL for (int row = 0; row < Rows; ++row) {
      __m512i sums[4];
      RL_UNROLL for (int q = 0; q < 4; ++q) {
        sums[q] = _mm512_load_si512(b.correction[q]);
        RL_UNROLL for (int k = 0; k < 3; ++k) {
          const auto* const weights = reinterpret_cast<const __m512i*>(b.weights[row][k][q]);
          asm("vpdpbusd %2, %1, %0" : "+v"(sums[q]) : "v"(columns[k].q[q]), "m"(*weights));
        }
        sums[q] = numbers_of<Limited>(
            _mm512_fmadd_ps(reals_of_sums(sums[q]), _mm512_load_ps(b.multiplier[q]), _mm512_load_ps(b.offset[q])));
      }
      const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(sums[0], sums[1]), zero);
      const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(sums[2], sums[3]), zero);
      const __m512i bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, second), least), most);
      store_pixels<Pixels, Whole>(d.out + x * d.out_stride + row * d.row_stride, d.out_stride, d.count - x, mask,
                                  bytes);
    }
    RL_UNROLL for (int k = 0; k < kKept; ++k) columns[k] = columns[k + 3 - kKept];
  }
}

template <int Pixels, int Stride, int Rows>
static void rows_3x3(const Int8Depthwise3x3& d) {
  if (!static_cast<const Block3x3*>(d.block)->limited) return columns_3x3<Pixels, Stride, Rows, false, false>(d);
  if (Pixels == 1 && d.channels >= 64) return columns_3x3<Pixels, Stride, Rows, true, Pixels == 1>(d);
  columns_3x3<Pixels, Stride, Rows, true, false>(d);
}

template <int Pixels>
static void pixels_3x3(const Int8Depthwise3x3& d) {
  if (d.stride == 2) return rows_3x3<Pixels, 2, 1>(d);
  d.rows == 2 ? rows_3x3<Pixels, 1, 2>(d) : rows_3x3<Pixels, 1, 1>(d);
}

static void depthwise_3x3(const Int8Depthwise3x3& d) {
  switch (width_3x3(d.channels)) {
    case 64:
      return pixels_3x3<1>(d);
    case 32:
      return pixels_3x3<2>(d);
    default:
      pixels_3x3<4>(d);
  }
}

}  // namespace rushlight::microkernels::RL_ISA
