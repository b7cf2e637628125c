// Products with numbers of 4 bits, in namespace rushlight::tiles::RL_TILES_ISA, which has add_quads() if
// RL_TILES_BYTE_QUADS is defined. Left numbers come in blocks of 32: those of even, then those of odd indices.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include <utility>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

inline constexpr int kNibbles = 32, kNibbleRows = 4;

// NibbleRight: 32 numbers of each of kNibbleColumns columns, `step` bytes apart. NibbleSums: kNibbleLanes sums, those
// of a column side by side.
#if defined(__AVX512BW__)
inline constexpr int kNibbleColumns = 2, kNibbleLanes = 16, kNibbleOffset = 128;
typedef int32_t NibbleSums __attribute__((vector_size(64)));
using NibbleRight = __m512i;
RL_INLINE NibbleRight load_nibbles(const uint8_t* p, int64_t step) {
  const __m256i bytes =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + step)), 1);
  const __m512i wide = _mm512_castsi256_si512(bytes);
  // Each column's bytes twice, the first time shifted to the high halves.
  const __m512i twice = _mm512_maskz_shuffle_i64x2(0xff, wide, wide, 0x50);
  const __m512i shifts =
      _mm512_set_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0, 0x0004000400040004, 0x0004000400040004);
  const __m512i numbers = _mm512_and_si512(_mm512_srlv_epi16(twice, shifts), _mm512_set1_epi8(15));
  return _mm512_sub_epi8(numbers, _mm512_set1_epi8(8));
}
RL_INLINE void add_nibbles(NibbleSums& sums, const uint8_t* left, NibbleRight right) {
  const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(left));
  const __m512i x = _mm512_maskz_broadcast_i64x4(0xff, numbers);
#if defined(RL_TILES_BYTE_QUADS)
  add_quads(sums, x, right);
#else
  const __m512i pairs = _mm512_maddubs_epi16(x, right);
  sums += reinterpret_cast<NibbleSums>(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
#elif defined(__AVX2__)
inline constexpr int kNibbleColumns = 1, kNibbleLanes = 8, kNibbleOffset = 128;
typedef int32_t NibbleSums __attribute__((vector_size(32)));
using NibbleRight = __m256i;
RL_INLINE NibbleRight load_nibbles(const uint8_t* p, int64_t) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_srli_epi16(bytes, 4)), bytes, 1);
  return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
}
RL_INLINE void add_nibbles(NibbleSums& sums, const uint8_t* left, NibbleRight right) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(left));
#if defined(RL_TILES_BYTE_QUADS)
  add_quads(sums, x, right);
#else
  // 255 * 8 * 2 fits 16 bits.
  const __m256i pairs = _mm256_maddubs_epi16(x, right);
  sums += reinterpret_cast<NibbleSums>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#elif defined(__ARM_NEON)
inline constexpr int kNibbleColumns = 1, kNibbleLanes = 4, kNibbleOffset = 0;
typedef int32_t NibbleSums __attribute__((vector_size(16)));
struct NibbleRight {
  int8x16_t even, odd;
};
RL_INLINE NibbleRight load_nibbles(const uint8_t* p, int64_t) {
  const uint8x16_t bytes = vld1q_u8(p);
  const int8x16_t eight = vdupq_n_s8(8);
  return {vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), eight),
          vsubq_s8(vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), eight)};
}
RL_INLINE void add_nibbles(NibbleSums& sums, const uint8_t* left, const NibbleRight& right) {
  const int8x16_t even = vld1q_s8(reinterpret_cast<const int8_t*>(left));
  const int8x16_t odd = vld1q_s8(reinterpret_cast<const int8_t*>(left) + 16);
#if defined(__ARM_FEATURE_DOTPROD)
  sums = NibbleSums(vdotq_s32(vdotq_s32(int32x4_t(sums), even, right.even), odd, right.odd));
#else
  // 4 products of at most 128 * 8 fit 16 bits.
  int16x8_t pairs = vmull_s8(vget_low_s8(even), vget_low_s8(right.even));
  pairs = vmlal_s8(pairs, vget_high_s8(even), vget_high_s8(right.even));
  pairs = vmlal_s8(pairs, vget_low_s8(odd), vget_low_s8(right.odd));
  pairs = vmlal_s8(pairs, vget_high_s8(odd), vget_high_s8(right.odd));
  sums = NibbleSums(vpadalq_s16(int32x4_t(sums), pairs));
#endif
}
#else
inline constexpr int kNibbleColumns = 1, kNibbleLanes = 4, kNibbleOffset = 0;
typedef int32_t NibbleSums __attribute__((vector_size(16)));
using NibbleRight = const uint8_t*;
RL_INLINE NibbleRight load_nibbles(const uint8_t* p, int64_t) { return p; }
RL_INLINE void add_nibbles(NibbleSums& sums, const uint8_t* left, NibbleRight right) {
  int32_t sum = 0;
  for (int i = 0; i < kNibbles / 2; ++i) {
    sum += static_cast<int8_t>(left[i]) * ((right[i] >> 4) - 8);
    sum += static_cast<int8_t>(left[i + 16]) * ((right[i] & 15) - 8);
  }
  sums[0] += sum;
}
#endif

typedef float NibbleReals __attribute__((vector_size(kNibbleLanes * 4)));

// Of the columns beside each other.
RL_INLINE NibbleReals load_scales(const float* scales, int64_t step) {
#if defined(__AVX512BW__)
  const __m512 second = _mm512_mask_broadcastss_ps(_mm512_set1_ps(scales[0]), 0xff00, _mm_load_ss(scales + step));
  return reinterpret_cast<NibbleReals>(second);
#else
  static_cast<void>(step);
  return scales[0] - NibbleReals{};
#endif
}

// `columns`: at most kNibbleColumns.
template <int Rows>
static void nibble_columns(const NibbleDots& d, const uint8_t* left, const uint8_t* right, const float* scales,
                           int64_t columns, float* sums) {
  const int64_t step = columns > 1 ? d.right_stride : 0, scale_step = columns > 1 ? d.scale_stride : 0;
  NibbleReals acc[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i] = NibbleReals{};
  for (int64_t g = 0; g < d.groups; ++g) {
    NibbleSums part[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) part[i] = NibbleSums{};
    for (int64_t k = 0; k < d.group; k += kNibbles, right += kNibbles / 2, left += kNibbles) {
      const NibbleRight w = load_nibbles(right, step);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_nibbles(part[i], left + i * d.left_stride, w);
    }
    const NibbleReals scale = load_scales(scales + g, scale_step);
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i] += __builtin_convertvector(part[i], NibbleReals) * scale;
  }
  constexpr int kLanesOfColumn = kNibbleLanes / kNibbleColumns;
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < kNibbleColumns; ++j) {
      float sum = 0;
      RL_UNROLL for (int l = 0; l < kLanesOfColumn; ++l) sum += acc[i][j * kLanesOfColumn + l];
      if (j < columns) sums[i * d.sums_stride + j] = sum;
    }
  }
}

template <int... I>
static void nibble_rows(int rows, const NibbleDots& d, const uint8_t* left, const uint8_t* right, const float* scales,
                        int64_t columns, float* sums, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const NibbleDots&, const uint8_t*, const uint8_t*, const float*, int64_t,
                                     float*) = {&nibble_columns<I + 1>...};
  by_rows[rows - 1](d, left, right, scales, columns, sums);
}

static void nibble_dots(int64_t rows, int64_t columns, const NibbleDots& d) {
  for (int64_t j = 0; j < columns; j += kNibbleColumns) {
    const int64_t count = columns - j < kNibbleColumns ? columns - j : kNibbleColumns;
    for (int64_t i = 0; i < rows; i += kNibbleRows) {
      const int64_t n = rows - i < kNibbleRows ? rows - i : kNibbleRows;
      nibble_rows(static_cast<int>(n), d, d.left + i * d.left_stride, d.right + j * d.right_stride,
                  d.scales + j * d.scale_stride, count, d.sums + i * d.sums_stride + j,
                  std::make_integer_sequence<int, kNibbleRows>{});
    }
  }
}

static void pack_nibble_left(const int8_t* from, int64_t n, uint8_t* to) {
  for (int64_t k = 0; k < n; k += kNibbles) {
    for (int i = 0; i < kNibbles / 2; ++i) {
      to[k + i] = static_cast<uint8_t>(from[k + 2 * i] + kNibbleOffset);
      to[k + kNibbles / 2 + i] = static_cast<uint8_t>(from[k + 2 * i + 1] + kNibbleOffset);
    }
  }
}

}  // namespace rushlight::tiles::RL_TILES_ISA
