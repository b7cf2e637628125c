// Requantization with AVX-512, in namespace rushlight::microkernels::RL_ISA. It converts four vectors of 16 sums to 64
// bytes by saturating narrowing. gemm/impl/int8_epilogue.h includes this file.
#pragma once

#include <immintrin.h>

#include <cmath>

#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

// Parameters of requantization that are the same for all columns.
struct Int8End {
  __m512i zero;                    // int16
  __m512i least, most, sign_mask;  // 8 bits each
  __m512i order;            // permutation of groups of four bytes that makes the results of each vector contiguous
  bool limited;             // no sum with a residual exceeds 32 bits
  __m128i other_sign_mask;  // 8 bits each
  // If a residual is added, `zero`, `least` and `most` are the range of the sum. The range of the product is then
  // [lowest, highest], stored as the bits of the floats (number - zero + kMagic).
  __m512i lowest, highest;
  __m512 magic, magic_less_zero;
  __m512 factor, other_factor, sum_offset;
};

// x + kMagic rounds x, |x| < 2^22, to an integer. The bits of such sums, as integers, have the order of the sums.
inline constexpr float kMagic = 12582912.0f;
inline constexpr int32_t kMagicBits = 0x4b400000;

// Parameters of requantization of two vectors of columns.
struct ColumnEnd {
  __m512i correction[2];
  __m512 multiplier[2], offset[2];
  __mmask16 lanes[2];  // mask of the columns that exist
  bool whole;          // whether all columns exist
  bool limited;        // whether no scaled sum exceeds 32 bits
};

template <bool Summed>
RL_INLINE Int8End int8_end(const Requantize& how) {
  const Int8Range range = Summed ? how.sum.range : Int8Range{how.zero, how.least, how.most};
  const int shift = range.most > 127 ? 128 : 0;  // uint8
  Int8End e{};
  e.limited = true;
  e.zero = _mm512_set1_epi16(static_cast<int16_t>(range.zero - shift));
  e.least = _mm512_set1_epi8(static_cast<char>(range.least - shift));
  e.most = _mm512_set1_epi8(static_cast<char>(range.most - shift));
  e.sign_mask = _mm512_set1_epi8(static_cast<char>(shift));
  e.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  if constexpr (Summed) {
    e.lowest = _mm512_set1_epi32(kMagicBits + how.least - how.zero);
    e.highest = _mm512_set1_epi32(kMagicBits + how.most - how.zero);
    e.other_sign_mask = _mm_set1_epi8(static_cast<char>(how.sum.sign_mask));
    e.magic = _mm512_set1_ps(kMagic), e.magic_less_zero = _mm512_set1_ps(kMagic - static_cast<float>(how.zero));
    e.factor = _mm512_set1_ps(how.sum.factor), e.other_factor = _mm512_set1_ps(how.sum.other_factor);
    e.sum_offset = _mm512_set1_ps(how.sum.offset);
    e.limited = 256 * (std::fabs(how.sum.factor) + std::fabs(how.sum.other_factor)) + std::fabs(how.sum.offset) < 1e9f;
  }
  return e;
}

RL_INLINE __mmask16 column_lanes(int vector, int64_t columns) {
  const int64_t lhs = columns - vector * 16;
  return static_cast<__mmask16>(lhs >= 16 ? 0xffff : (1 << lhs) - 1);
}

RL_INLINE __m512i load_columns(const int32_t* from, int vector, int64_t columns) {
  return _mm512_maskz_loadu_epi32(column_lanes(vector, columns), from + vector * 16);
}

// Prepares the parameters of `columns` columns. Only the last vector may be partly used.
template <int Vectors>
RL_INLINE ColumnEnd column_end(const Requantize& how, int64_t columns) {
  ColumnEnd c{};
  __mmask16 beyond = 0;
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    c.lanes[j] = column_lanes(j, columns);
    if (how.correction) c.correction[j] = load_columns(how.correction, j, columns);
    if (how.offset) c.offset[j] = _mm512_maskz_loadu_ps(c.lanes[j], how.offset + j * 16);
    c.multiplier[j] = _mm512_maskz_loadu_ps(c.lanes[j], how.multiplier + j * 16);
    // With a multiplier of 1/4 or more, or an offset of 2^29 or more, scaled sums might reach 2^31.
    beyond = static_cast<__mmask16>(beyond | _mm512_cmp_ps_mask(c.multiplier[j], _mm512_set1_ps(0.25f), _CMP_NLT_UQ) |
                                    _mm512_cmp_ps_mask(c.multiplier[j], _mm512_set1_ps(-0.25f), _CMP_NGT_UQ) |
                                    _mm512_cmp_ps_mask(c.offset[j], _mm512_set1_ps(536870912.0f), _CMP_NLT_UQ));
  }
  c.limited = beyond == 0;
  c.whole = c.lanes[Vectors - 1] == 0xffff;
  return c;
}

// The forms with masks avoid warnings of GCC 12.
RL_INLINE __m512 reals_of_sums(__m512i x) { return _mm512_maskz_cvtepi32_ps(0xffff, x); }
// Rounds to int32. Values above the range of int32 are limited first, unless Limited. NaN becomes the smallest int32.
template <bool Limited>
RL_INLINE __m512 limited(__m512 x) {
  if constexpr (Limited) return x;
  return _mm512_maskz_min_ps(0xffff, _mm512_maskz_max_ps(0xffff, x, _mm512_set1_ps(-1e9f)), _mm512_set1_ps(1e9f));
}
template <bool Limited>
RL_INLINE __m512i numbers_of(__m512 x) {
  return _mm512_maskz_cvtps_epi32(0xffff, limited<Limited>(x));
}

// Scales N vectors of corrected sums for narrowed(). Vector v has columns v % Vectors. Each operation is done for all
// vectors before the next operation, so that independent instructions are close to each other.
template <int Vectors, bool Limited, bool Summed, int N>
RL_INLINE void scale_sums(const Int8End& e, const ColumnEnd& c, const __m128i (&others)[N], __m512i (&sums)[N]) {
  __m512 x[N], other[N];
  RL_UNROLL for (int v = 0; v < N; ++v) x[v] = reals_of_sums(sums[v]);
  RL_UNROLL for (int v = 0; v < N; ++v) x[v] = _mm512_fmadd_ps(x[v], c.multiplier[v % Vectors], c.offset[v % Vectors]);
  if constexpr (Summed) {
    // The sums are clamped as integers, because processors have more units for integers than for floats.
    RL_UNROLL for (int v = 0; v < N; ++v) {
      sums[v] = _mm512_castps_si512(_mm512_add_ps(limited<Limited>(x[v]), e.magic));
    }
    RL_UNROLL for (int v = 0; v < N; ++v) sums[v] = _mm512_maskz_max_epi32(0xffff, sums[v], e.lowest);
    RL_UNROLL for (int v = 0; v < N; ++v) sums[v] = _mm512_maskz_min_epi32(0xffff, sums[v], e.highest);
    RL_UNROLL for (int v = 0; v < N; ++v) x[v] = _mm512_sub_ps(_mm512_castsi512_ps(sums[v]), e.magic_less_zero);
    RL_UNROLL for (int v = 0; v < N; ++v) x[v] = _mm512_fmadd_ps(x[v], e.factor, e.sum_offset);
    RL_UNROLL for (int v = 0; v < N; ++v) sums[v] =
        _mm512_maskz_cvtepi8_epi32(0xffff, _mm_xor_si128(others[v], e.other_sign_mask));
    RL_UNROLL for (int v = 0; v < N; ++v) other[v] = reals_of_sums(sums[v]);
    RL_UNROLL for (int v = 0; v < N; ++v) x[v] = _mm512_fmadd_ps(other[v], e.other_factor, x[v]);
  }
  RL_UNROLL for (int v = 0; v < N; ++v) sums[v] = numbers_of<Limited>(x[v]);
}

// Loads vector j of a row of the residual.
template <bool Whole>
RL_INLINE __m128i load_others(const ColumnEnd& c, int j, const int8_t* row) {
  if constexpr (Whole) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + j * 16));
  return _mm_maskz_loadu_epi8(c.lanes[j], row + j * 16);
}

// Narrows four vectors from scale_sums() to 64 bytes: the bytes of a, then of b, c and d.
RL_INLINE __m512i narrowed(const Int8End& e, __m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i upper = _mm512_adds_epi16(_mm512_packs_epi32(a, b), e.zero);
  const __m512i lower = _mm512_adds_epi16(_mm512_packs_epi32(c, d), e.zero);
  __m512i bytes = _mm512_packs_epi16(upper, lower);
  bytes = _mm512_xor_si512(_mm512_min_epi8(_mm512_max_epi8(bytes, e.least), e.most), e.sign_mask);
  return _mm512_maskz_permutexvar_epi32(0xffff, e.order, bytes);
}

// Stores row `row` of the results in `bytes`. A row consists of `Vectors` vectors. Whole: c.whole is true.
template <int Vectors, bool Whole>
RL_INLINE void store_bytes(uint8_t* to, const ColumnEnd& c, __m512i bytes, int row) {
  static_assert(Vectors == 1 || Vectors == 2);
  if constexpr (Vectors == 2) {
    const __m256i part =
        row == 0 ? _mm512_maskz_extracti64x4_epi64(0xf, bytes, 0) : _mm512_maskz_extracti64x4_epi64(0xf, bytes, 1);
    if constexpr (Whole) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), part);
    _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(c.lanes[1]) << 16 | 0xffff, part);
  } else {
    const __m128i part = row == 0   ? _mm512_maskz_extracti32x4_epi32(0xf, bytes, 0)
                         : row == 1 ? _mm512_maskz_extracti32x4_epi32(0xf, bytes, 1)
                         : row == 2 ? _mm512_maskz_extracti32x4_epi32(0xf, bytes, 2)
                                    : _mm512_maskz_extracti32x4_epi32(0xf, bytes, 3);
    if constexpr (Whole) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), part);
    _mm_mask_storeu_epi8(to, c.lanes[0], part);
  }
}

// Processes two rows of two vectors, or four rows of one vector, at a time.
template <int Vectors, bool Limited, bool Summed, bool Whole>
RL_INLINE void requantize_columns(const Int8End& e, const ColumnEnd& c, const SumRows& r, const int32_t* sums,
                                  const int8_t* others, uint8_t* to) {
  constexpr int kRows = 4 / Vectors;
  for (int64_t i = 0; i < r.rows; i += kRows) {
    const int64_t rows = r.rows - i;
    __m512i x[4];
    __m128i other[4]{};
    RL_UNROLL for (int v = 0; v < 4; ++v) {
      const int64_t row = v / Vectors < rows ? i + v / Vectors : i;
      const int j = v % Vectors;
      const __m512i from = _mm512_maskz_loadu_epi32(c.lanes[j], sums + row * r.sums_stride + j * 16);
      x[v] = _mm512_add_epi32(from, c.correction[j]);
      if constexpr (Summed) other[v] = load_others<Whole>(c, j, others + row * r.out_stride);
    }
    scale_sums<Vectors, Limited, Summed>(e, c, other, x);
    const __m512i bytes = narrowed(e, x[0], x[1], x[2], x[3]);
    RL_UNROLL for (int row = 0; row < kRows; ++row) {
      if (row < rows) store_bytes<Vectors, Whole>(to + (i + row) * r.out_stride, c, bytes, row);
    }
  }
}

template <int Vectors, bool Summed>
RL_INLINE void requantize_vectors(const Requantize& how, const SumRows& r, int64_t first, uint8_t* out) {
  const Int8End e = int8_end<Summed>(how);
  Requantize from = how;
  from.multiplier += first;
  if (how.correction) from.correction += first;
  if (how.offset) from.offset += first;
  const ColumnEnd c = column_end<Vectors>(from, r.columns - first);
  const int8_t* const others = Summed ? how.sum.others + first : nullptr;
  if (!c.limited || !e.limited) {
    requantize_columns<Vectors, false, Summed, false>(e, c, r, r.sums + first, others, out + first);
  } else if (c.whole) {
    requantize_columns<Vectors, true, Summed, true>(e, c, r, r.sums + first, others, out + first);
  } else {
    requantize_columns<Vectors, true, Summed, false>(e, c, r, r.sums + first, others, out + first);
  }
}

template <bool Summed>
static void requantize_sums(const Requantize& how, const SumRows& r, uint8_t* out) {
  int64_t j = 0;
  for (; r.columns - j > 16; j += 32) requantize_vectors<2, Summed>(how, r, j, out);
  if (j < r.columns) requantize_vectors<1, Summed>(how, r, j, out);
}

}  // namespace rushlight::microkernels::RL_ISA
