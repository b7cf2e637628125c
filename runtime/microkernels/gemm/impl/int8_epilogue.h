// Epilogues of rows of int8 sums, in namespace rushlight::microkernels::RL_ISA. That namespace defines kLanes and, if
// RL_NARROW is defined, store_narrow(uint8_t* to, Sums), which stores the low bytes of kLanes sums.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

#include "microkernels/tables/int8.h"
#if defined(__AVX512BW__)
#include "microkernels/simd/int8_results_avx512.h"
#endif
#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

typedef int32_t Lanes __attribute__((vector_size(kLanes * 4)));
typedef float Reals __attribute__((vector_size(kLanes * 4)));
typedef uint32_t UnsignedLanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t LooseLanes __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef float LooseReals __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

RL_INLINE Lanes load_lanes(const int32_t* p) { return *reinterpret_cast<const LooseLanes*>(p); }
RL_INLINE Reals load_reals(const float* p) { return *reinterpret_cast<const LooseReals*>(p); }
RL_INLINE Lanes wrapping_sum(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(reinterpret_cast<UnsignedLanes>(a) + reinterpret_cast<UnsignedLanes>(b));
}

RL_INLINE Lanes widen(const int8_t* p) {
#if defined(__AVX2__)
  const __m128i bytes = kLanes == 8 ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))
                                    : _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
#if defined(__AVX512BW__)
  // The form with a mask avoids a warning of GCC 12.
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

#if defined(RL_NARROW)
using Narrowed = Sums;
#else
using Narrowed = Lanes;
RL_INLINE void store_narrow(uint8_t* to, Lanes x) {
  typedef uint8_t Narrow __attribute__((vector_size(kLanes)));
  typedef uint8_t LooseNarrow __attribute__((vector_size(kLanes), aligned(1), may_alias));
  *reinterpret_cast<LooseNarrow*>(to) = __builtin_convertvector(x, Narrow);
}
#endif

// Return a > b ? a : b and a < b ? a : b, each with one instruction. Compilers would use a comparison and a selection.
RL_INLINE Reals larger(Reals a, Reals b) {
#if defined(__AVX512BW__)
  return Reals(_mm512_maskz_max_ps(0xffff, a, b));
#elif defined(__AVX2__)
  return Reals(_mm256_max_ps(a, b));
#else
  return a > b ? a : b;
#endif
}
RL_INLINE Reals smaller(Reals a, Reals b) {
#if defined(__AVX512BW__)
  return Reals(_mm512_maskz_min_ps(0xffff, a, b));
#elif defined(__AVX2__)
  return Reals(_mm256_min_ps(a, b));
#else
  return a < b ? a : b;
#endif
}

// Returns a * b + c. It is fused if one instruction can do this, independent of the compiler's options.
RL_INLINE Reals multiply_add(Reals a, Reals b, Reals c) {
#if defined(__AVX512BW__)
  return Reals(_mm512_fmadd_ps(a, b, c));
#elif defined(__AVX2__)
  return Reals(_mm256_fmadd_ps(a, b, c));
#else
  return a * b + c;
#endif
}
RL_INLINE float multiply_add(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// x + kRounding rounds x, |x| < 2^22, to an integer, which is in the low bits of the sum.
inline constexpr float kRounding = 12582912.0f;
inline constexpr int32_t kRoundingBits = 0x4b400000;

// Bounds of the scaled sums before the zero point is added, and the constant that converts the bits of x + kRounding to
// the quantized number.
struct Clamp {
  float least, most;
  int32_t zero;
};

RL_INLINE Clamp clamp_of(const Int8Range& range) {
  return {static_cast<float>(range.least - range.zero), static_cast<float>(range.most - range.zero),
          range.zero - kRoundingBits};
}

RL_INLINE Lanes rounded(Reals x, const Clamp& clamp) {
  const Reals least = clamp.least - Reals{}, most = clamp.most - Reals{};
  return reinterpret_cast<Lanes>(smaller(larger(x, least), most) + kRounding) + clamp.zero;
}

RL_INLINE int32_t rounded(float x, const Clamp& clamp) {
  x = x > clamp.least ? x : clamp.least;
  x = (x < clamp.most ? x : clamp.most) + kRounding;
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits + clamp.zero;
}

RL_INLINE void store_rounded(int8_t* to, Reals x, const Clamp& clamp) {
  store_narrow(reinterpret_cast<uint8_t*>(to), Narrowed(rounded(x, clamp)));
}

#if defined(RL_NARROW) && defined(__AVX2__)
// The parameters of Requantize for sixteen columns.
struct Sixteen {
  __m256i correction[2];
  __m256 multiplier[2], offset[2];
  __m256i zero;                    // int16
  __m256i least, most, sign_mask;  // 8 bits each
  // If a residual is added, `zero`, `least` and `most` are the range of the sum, and the following members belong to
  // the product.
  __m256 lowest, highest;  // range of the product minus its zero point
  __m256 own_zero, factor, other_factor, sum_offset;
  __m128i other_sign_mask;
};

// Rounds to int32. Values above the range of int32 are limited first, because the conversion would return the smallest
// int32.
RL_INLINE __m256i rounded_reals(__m256 x) { return _mm256_cvtps_epi32(_mm256_min_ps(x, _mm256_set1_ps(1e9f))); }

template <bool Limited, bool Summed>
RL_INLINE __m256i scaled_sums(const Sixteen& s, const int32_t* sums, const int8_t* others, int i) {
  const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 8 * i));
  const __m256i sum = _mm256_add_epi32(from, s.correction[i]);
  const __m256 x = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), s.multiplier[i], s.offset[i]);
  if constexpr (Summed) {
    // A NaN becomes the lowest value.
    const __m256 bounded = _mm256_min_ps(_mm256_max_ps(x, s.lowest), s.highest);
    const __m256 number = _mm256_add_ps(_mm256_round_ps(bounded, _MM_FROUND_TO_NEAREST_INT), s.own_zero);
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(others + 8 * i));
    const __m256 other = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_xor_si128(bytes, s.other_sign_mask)));
    return rounded_reals(_mm256_fmadd_ps(other, s.other_factor, _mm256_fmadd_ps(number, s.factor, s.sum_offset)));
  }
  return Limited ? _mm256_cvtps_epi32(x) : rounded_reals(x);
}

// Limited: no scaled sum exceeds 32 bits. Summed: a residual is added.
template <bool Limited, bool Summed>
RL_INLINE void requantize_sixteen(const Sixteen& s, const int32_t* sums, const int8_t* others, const SumRows& r,
                                  uint8_t* to) {
  const int64_t rows = r.rows, step = r.sums_stride, out_step = r.out_stride;
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int64_t i = 0; i < rows; i += 2, sums += 2 * step, to += 2 * out_step) {
    const int32_t* const next = i + 1 < rows ? sums + step : sums;
    const int8_t* const after = Summed && i + 1 < rows ? others + out_step : others;
    const __m256i upper = _mm256_packs_epi32(scaled_sums<Limited, Summed>(s, sums, others, 0),
                                             scaled_sums<Limited, Summed>(s, sums, others, 1));
    const __m256i lower = _mm256_packs_epi32(scaled_sums<Limited, Summed>(s, next, after, 0),
                                             scaled_sums<Limited, Summed>(s, next, after, 1));
    if constexpr (Summed) others += 2 * out_step;
    __m256i bytes = _mm256_packs_epi16(_mm256_adds_epi16(upper, s.zero), _mm256_adds_epi16(lower, s.zero));
    bytes = _mm256_permutevar8x32_epi32(_mm256_min_epi8(_mm256_max_epi8(bytes, s.least), s.most), order);
    bytes = _mm256_xor_si256(bytes, s.sign_mask);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    if (i + 1 == rows) return;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + out_step), _mm256_extracti128_si256(bytes, 1));
  }
}

// Returns the parameters that all columns share.
template <bool Summed>
RL_INLINE Sixteen shared_parameters(const Requantize& how) {
  const Int8Range range = Summed ? how.sum.range : Int8Range{how.zero, how.least, how.most};
  const int shift = range.most > 127 ? 128 : 0;  // uint8
  Sixteen s;
  s.zero = _mm256_set1_epi16(static_cast<int16_t>(range.zero - shift));
  s.least = _mm256_set1_epi8(static_cast<char>(range.least - shift));
  s.most = _mm256_set1_epi8(static_cast<char>(range.most - shift));
  s.sign_mask = _mm256_set1_epi8(static_cast<char>(shift));
  if constexpr (Summed) {
    s.lowest = _mm256_set1_ps(static_cast<float>(how.least - how.zero));
    s.highest = _mm256_set1_ps(static_cast<float>(how.most - how.zero));
    s.own_zero = _mm256_set1_ps(static_cast<float>(how.zero));
    s.factor = _mm256_set1_ps(how.sum.factor), s.other_factor = _mm256_set1_ps(how.sum.other_factor);
    s.sum_offset = _mm256_set1_ps(how.sum.offset);
    s.other_sign_mask = _mm_set1_epi8(static_cast<char>(how.sum.sign_mask));
  }
  return s;
}

// Loads the parameters of columns [j, j + 16). Returns whether no scaled sum can exceed 32 bits.
template <bool Corrected, bool Offset>
RL_INLINE bool load_columns(const Requantize& how, int64_t j, Sixteen& s) {
  __m256 beyond = _mm256_setzero_ps();
  RL_UNROLL for (int i = 0; i < 2; ++i) {
    s.correction[i] = _mm256_setzero_si256();
    s.offset[i] = _mm256_setzero_ps();
    if constexpr (Corrected) {
      s.correction[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(how.correction + j + 8 * i));
    }
    if constexpr (Offset) s.offset[i] = _mm256_loadu_ps(how.offset + j + 8 * i);
    s.multiplier[i] = _mm256_loadu_ps(how.multiplier + j + 8 * i);
    // With a multiplier of 1/4 or more, or an offset of 2^29 or more, scaled sums might reach 2^31.
    beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.multiplier[i], _mm256_set1_ps(0.25f), _CMP_NLT_UQ));
    beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.multiplier[i], _mm256_set1_ps(-0.25f), _CMP_NGT_UQ));
    beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.offset[i], _mm256_set1_ps(536870912.0f), _CMP_NLT_UQ));
  }
  return _mm256_movemask_ps(beyond) == 0;
}

// Requantizes sixteen columns at a time, with saturating narrowing. Returns the number of columns that are done.
template <bool Corrected, bool Offset, bool Summed>
static int64_t requantize_sixteens(const Requantize& how, const SumRows& r, uint8_t* out) {
  Sixteen s = shared_parameters<Summed>(how);
  int64_t j = 0;
  for (; j + 16 <= r.columns; j += 16) {
    const bool is_limited = load_columns<Corrected, Offset>(how, j, s);
    if constexpr (Summed) {
      requantize_sixteen<false, true>(s, r.sums + j, how.sum.others + j, r, out + j);
    } else if (is_limited) {
      requantize_sixteen<true, false>(s, r.sums + j, nullptr, r, out + j);
    } else {
      requantize_sixteen<false, false>(s, r.sums + j, nullptr, r, out + j);
    }
  }
  return j;
}
#endif

#if !defined(__AVX512BW__)
// Rounds scaled sums to quantized numbers, to which a residual is added.
struct Rounding {
  Clamp clamp;
  const Int8Sum& sum;
  Clamp sum_clamp;
  int32_t other_mask, other_zero;  // other[i] & other_mask, minus other_zero, is the residual as int8
};

// Returns the quantized numbers of kLanes columns, or of one column. `at` is the place of the residual.
template <bool Summed>
RL_INLINE Lanes quantized(const Rounding& how, Reals x, int64_t at) {
  const Lanes number = rounded(x, how.clamp);
  if constexpr (!Summed) return number;
  const Lanes other = (widen(how.sum.others + at) & how.other_mask) - how.other_zero;
  x = __builtin_convertvector(number, Reals) * how.sum.factor + how.sum.offset;
  return rounded(__builtin_convertvector(other, Reals) * how.sum.other_factor + x, how.sum_clamp);
}
template <bool Summed>
RL_INLINE int32_t quantized(const Rounding& how, float x, int64_t at) {
  const int32_t number = rounded(x, how.clamp);
  if constexpr (!Summed) return number;
  const int32_t other = (how.sum.others[at] & how.other_mask) - how.other_zero;
  x = static_cast<float>(number) * how.sum.factor + how.sum.offset;
  return rounded(static_cast<float>(other) * how.sum.other_factor + x, how.sum_clamp);
}

template <bool Corrected, bool Offset, bool Summed>
static void requantize_rows(const Requantize& how, const SumRows& r, uint8_t* out) {
  const int32_t mask = how.sum.sign_mask;
  const Rounding rounding{clamp_of({how.zero, how.least, how.most}), how.sum,
                          clamp_of(Summed ? how.sum.range : Int8Range{}), mask ? 0xff : -1, mask};
#if defined(RL_NARROW) && defined(__AVX2__)
  int64_t j = requantize_sixteens<Corrected, Offset, Summed>(how, r, out);
#else
  int64_t j = 0;
#endif
  for (; j + kLanes <= r.columns; j += kLanes) {
    Lanes correction{};
    Reals offset{};
    if constexpr (Corrected) correction = load_lanes(how.correction + j);
    if constexpr (Offset) offset = load_reals(how.offset + j);
    const Reals multiplier = load_reals(how.multiplier + j);
    const int32_t* sums = r.sums + j;
    for (int64_t i = 0; i < r.rows; ++i, sums += r.sums_stride) {
      const int64_t at = i * r.out_stride + j;
      const Lanes corrected = wrapping_sum(load_lanes(sums), correction);
      const Reals x = __builtin_convertvector(corrected, Reals) * multiplier + offset;
      store_narrow(out + at, Narrowed(quantized<Summed>(rounding, x, at)));
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const int64_t at = i * r.out_stride + j;
      // Values beyond 32 bits wrap around, as in the vectors above.
      const uint32_t exact = static_cast<uint32_t>(r.sums[i * r.sums_stride + j]);
      const uint32_t corrected = exact + static_cast<uint32_t>(Corrected ? how.correction[j] : 0);
      const float sum = static_cast<float>(static_cast<int32_t>(corrected));
      const float x = sum * how.multiplier[j] + (Offset ? how.offset[j] : 0.0f);
      out[at] = static_cast<uint8_t>(quantized<Summed>(rounding, x, at));
    }
  }
}

template <bool Summed>
static void requantize_summed(const Requantize& how, const SumRows& rows, uint8_t* out) {
  if (how.correction && how.offset) return requantize_rows<true, true, Summed>(how, rows, out);
  if (how.correction) return requantize_rows<true, false, Summed>(how, rows, out);
  if (how.offset) return requantize_rows<false, true, Summed>(how, rows, out);
  requantize_rows<false, false, Summed>(how, rows, out);
}

#endif

#if !defined(RL_PRODUCTS)
static void requantize(const Requantize& how, const SumRows& rows, uint8_t* out) {
#if defined(__AVX512BW__)
  how.sum.others ? requantize_sums<true>(how, rows, out) : requantize_sums<false>(how, rows, out);
#else
  how.sum.others ? requantize_summed<true>(how, rows, out) : requantize_summed<false>(how, rows, out);
#endif
}

static void dequantize(const Dequantize& how, const SumRows& r, float* out) {
  const Reals least = how.least - Reals{}, most = how.most - Reals{};
  int64_t j = 0;
  for (; j + kLanes <= r.columns; j += kLanes) {
    const Lanes rhs_sums = load_lanes(how.rhs_sums + j);
    const Reals multiplier = load_reals(how.multiplier + j);
    const Reals offset = how.offset ? load_reals(how.offset + j) : Reals{};
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zero(i);
      const Lanes sum = load_lanes(r.sums + i * r.sums_stride + j) - zero * rhs_sums;
      Reals x = multiply_add(__builtin_convertvector(sum, Reals), how.scales[i * how.step] * multiplier, offset);
      if (how.accumulate) x += load_reals(out + i * r.out_stride + j);
      *reinterpret_cast<LooseReals*>(out + i * r.out_stride + j) = smaller(most, larger(least, x));
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zero(i);
      const float sum = static_cast<float>(wrapping_difference(r.sums[i * r.sums_stride + j], zero, how.rhs_sums[j]));
      float x = multiply_add(sum, how.scales[i * how.step] * how.multiplier[j], how.offset ? how.offset[j] : 0.0f);
      if (how.accumulate) x += out[i * r.out_stride + j];
      x = x < how.least ? how.least : x;
      out[i * r.out_stride + j] = x > how.most ? how.most : x;
    }
  }
}
#endif

}  // namespace rushlight::microkernels::RL_ISA
