// Products with 4-bit numbers, in namespace rushlight::microkernels::RL_ISA. That namespace defines add_quads() if
// RL_INT8_QUADS is defined. The LHS consists of blocks of 32 numbers: first the even, then the odd indices.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include <cstring>
#include <utility>

#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kInt4 = 32, kInt4Rows = 4;

// Int4Rhs: 32 numbers of each of kInt4Columns columns, which are `step` bytes apart. Int4Sums: kInt4Lanes sums, in the
// order of the columns.
#if defined(__AVX512BW__)
inline constexpr int kInt4Columns = 2, kInt4Lanes = 16, kInt4Offset = 128;
typedef int32_t Int4Sums __attribute__((vector_size(64)));
using Int4Rhs = __m512i;
RL_INLINE Int4Rhs load_int4(const uint8_t* p, int64_t step) {
  const __m256i bytes =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + step)), 1);
  const __m512i wide = _mm512_castsi256_si512(bytes);
  // The bytes of each column twice, the first copy shifted so that the high halves are in the low bits.
  const __m512i twice = _mm512_maskz_shuffle_i64x2(0xff, wide, wide, 0x50);
  const __m512i shifts =
      _mm512_set_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0, 0x0004000400040004, 0x0004000400040004);
  const __m512i numbers = _mm512_and_si512(_mm512_srlv_epi16(twice, shifts), _mm512_set1_epi8(15));
  return _mm512_sub_epi8(numbers, _mm512_set1_epi8(8));
}
RL_INLINE void add_int4(Int4Sums& sums, const uint8_t* lhs, Int4Rhs rhs) {
  const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lhs));
  const __m512i x = _mm512_maskz_broadcast_i64x4(0xff, numbers);
#if defined(RL_INT8_QUADS)
  add_quads(sums, x, rhs);
#else
  const __m512i pairs = _mm512_maddubs_epi16(x, rhs);
  sums += reinterpret_cast<Int4Sums>(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
#elif defined(__AVX2__)
inline constexpr int kInt4Columns = 1, kInt4Lanes = 8, kInt4Offset = 128;
typedef int32_t Int4Sums __attribute__((vector_size(32)));
using Int4Rhs = __m256i;
RL_INLINE Int4Rhs load_int4(const uint8_t* p, int64_t) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_srli_epi16(bytes, 4)), bytes, 1);
  return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
}
RL_INLINE void add_int4(Int4Sums& sums, const uint8_t* lhs, Int4Rhs rhs) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lhs));
#if defined(RL_INT8_QUADS)
  add_quads(sums, x, rhs);
#else
  // 255 * 8 * 2 fits into 16 bits.
  const __m256i pairs = _mm256_maddubs_epi16(x, rhs);
  sums += reinterpret_cast<Int4Sums>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#elif defined(__ARM_NEON)
inline constexpr int kInt4Columns = 1, kInt4Lanes = 4, kInt4Offset = 0;
typedef int32_t Int4Sums __attribute__((vector_size(16)));
struct Int4Rhs {
  int8x16_t even, odd;
};
RL_INLINE Int4Rhs load_int4(const uint8_t* p, int64_t) {
  const uint8x16_t bytes = vld1q_u8(p);
  const int8x16_t eight = vdupq_n_s8(8);
  return {vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), eight),
          vsubq_s8(vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), eight)};
}
RL_INLINE void add_int4(Int4Sums& sums, const uint8_t* lhs, const Int4Rhs& rhs) {
  const int8x16_t even = vld1q_s8(reinterpret_cast<const int8_t*>(lhs));
  const int8x16_t odd = vld1q_s8(reinterpret_cast<const int8_t*>(lhs) + 16);
#if defined(__ARM_FEATURE_DOTPROD)
  sums = Int4Sums(vdotq_s32(vdotq_s32(int32x4_t(sums), even, rhs.even), odd, rhs.odd));
#else
  // Four products of at most 128 * 8 fit into 16 bits.
  int16x8_t pairs = vmull_s8(vget_low_s8(even), vget_low_s8(rhs.even));
  pairs = vmlal_s8(pairs, vget_high_s8(even), vget_high_s8(rhs.even));
  pairs = vmlal_s8(pairs, vget_low_s8(odd), vget_low_s8(rhs.odd));
  pairs = vmlal_s8(pairs, vget_high_s8(odd), vget_high_s8(rhs.odd));
  sums = Int4Sums(vpadalq_s16(int32x4_t(sums), pairs));
#endif
}
#else
inline constexpr int kInt4Columns = 1, kInt4Lanes = 4, kInt4Offset = 0;
typedef int32_t Int4Sums __attribute__((vector_size(16)));
using Int4Rhs = const uint8_t*;
RL_INLINE Int4Rhs load_int4(const uint8_t* p, int64_t) { return p; }
RL_INLINE void add_int4(Int4Sums& sums, const uint8_t* lhs, Int4Rhs rhs) {
  int32_t sum = 0;
  for (int i = 0; i < kInt4 / 2; ++i) {
    sum += static_cast<int8_t>(lhs[i]) * ((rhs[i] >> 4) - 8);
    sum += static_cast<int8_t>(lhs[i + 16]) * ((rhs[i] & 15) - 8);
  }
  sums[0] += sum;
}
#endif

typedef float Int4Dequantize __attribute__((vector_size(kInt4Lanes * 4)));

// Loads the scales of adjacent columns.
RL_INLINE Int4Dequantize load_scales(const float* scales, int64_t step) {
#if defined(__AVX512BW__)
  const __m512 second = _mm512_mask_broadcastss_ps(_mm512_set1_ps(scales[0]), 0xff00, _mm_load_ss(scales + step));
  return reinterpret_cast<Int4Dequantize>(second);
#else
  static_cast<void>(step);
  return scales[0] - Int4Dequantize{};
#endif
}

// `columns` is at most kInt4Columns.
template <int Rows>
static void int4_columns(const Int4Dots& d, const uint8_t* lhs, const uint8_t* rhs, const float* scales,
                         int64_t columns, float* sums) {
  const int64_t step = columns > 1 ? d.rhs_stride : 0, scale_step = columns > 1 ? d.scale_stride : 0;
  Int4Dequantize acc[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i] = Int4Dequantize{};
  for (int64_t g = 0; g < d.groups; ++g) {
    Int4Sums part[Rows];
    RL_UNROLL for (int i = 0; i < Rows; ++i) part[i] = Int4Sums{};
    for (int64_t k = 0; k < d.group; k += kInt4, rhs += kInt4 / 2, lhs += kInt4) {
      const Int4Rhs w = load_int4(rhs, step);
      RL_UNROLL for (int i = 0; i < Rows; ++i) add_int4(part[i], lhs + i * d.lhs_stride, w);
    }
    const Int4Dequantize scale = load_scales(scales + g, scale_step);
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i] += __builtin_convertvector(part[i], Int4Dequantize) * scale;
  }
  constexpr int kLanesOfColumn = kInt4Lanes / kInt4Columns;
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < kInt4Columns; ++j) {
      float sum = 0;
      RL_UNROLL for (int l = 0; l < kLanesOfColumn; ++l) sum += acc[i][j * kLanesOfColumn + l];
      if (j < columns) sums[i * d.sums_stride + j] = sum;
    }
  }
}

template <int... I>
static void int4_rows(int rows, const Int4Dots& d, const uint8_t* lhs, const uint8_t* rhs, const float* scales,
                      int64_t columns, float* sums, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Int4Dots&, const uint8_t*, const uint8_t*, const float*, int64_t,
                                     float*) = {&int4_columns<I + 1>...};
  by_rows[rows - 1](d, lhs, rhs, scales, columns, sums);
}

static void int4_dots(int64_t rows, int64_t columns, const Int4Dots& d) {
  for (int64_t j = 0; j < columns; j += kInt4Columns) {
    const int64_t count = columns - j < kInt4Columns ? columns - j : kInt4Columns;
    for (int64_t i = 0; i < rows; i += kInt4Rows) {
      const int64_t n = rows - i < kInt4Rows ? rows - i : kInt4Rows;
      int4_rows(static_cast<int>(n), d, d.lhs + i * d.lhs_stride, d.rhs + j * d.rhs_stride,
                d.scales + j * d.scale_stride, count, d.sums + i * d.sums_stride + j,
                std::make_integer_sequence<int, kInt4Rows>{});
    }
  }
}

static void pack_int4_lhs(const int8_t* from, int64_t n, uint8_t* to) {
  for (int64_t k = 0; k < n; k += kInt4) {
    for (int i = 0; i < kInt4 / 2; ++i) {
      to[k + i] = static_cast<uint8_t>(from[k + 2 * i] + kInt4Offset);
      to[k + kInt4 / 2 + i] = static_cast<uint8_t>(from[k + 2 * i + 1] + kInt4Offset);
    }
  }
}

#if !defined(RL_PRODUCTS)
static void int4_row(const Int4Row& row, int64_t columns) {
  const auto load = [](const float* from) {
    Int4Dequantize x;
    std::memcpy(&x, from, sizeof(x));
    return x;
  };
  int64_t j = 0;
  for (; j + kInt4Lanes <= columns; j += kInt4Lanes) {
    Int4Dequantize x = (load(row.sums + j) - row.zero * load(row.weight_sums + j)) * row.scale;
    if (row.bias) x += load(row.bias + j);
    if (row.residual) x += load(row.residual + j);
    std::memcpy(row.out + j, &x, sizeof(x));
  }
  for (; j < columns; ++j) {
    float x = (row.sums[j] - row.zero * row.weight_sums[j]) * row.scale;
    if (row.bias) x += row.bias[j];
    if (row.residual) x += row.residual[j];
    row.out[j] = x;
  }
}
#endif

}  // namespace rushlight::microkernels::RL_ISA
