// What becomes of rows of sums, in namespace rushlight::tiles::RL_TILES_ISA, which has kLanes and, if RL_TILES_NARROW
// is defined, store_narrow(uint8_t* to, Sums): the low bytes of kLanes sums.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

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

#if defined(RL_TILES_NARROW)
using Narrowed = Sums;
#else
using Narrowed = Lanes;
RL_INLINE void store_narrow(uint8_t* to, Lanes x) {
  typedef uint8_t Narrow __attribute__((vector_size(kLanes)));
  typedef uint8_t LooseNarrow __attribute__((vector_size(kLanes), aligned(1), may_alias));
  *reinterpret_cast<LooseNarrow*>(to) = __builtin_convertvector(x, Narrow);
}
#endif

// Added to a number of less than 2^22, it rounds it to an integer, which the low bits then hold.
inline constexpr float kRounding = 12582912.0f;
inline constexpr int32_t kRoundingBits = 0x4b400000;

#if defined(RL_TILES_NARROW) && defined(__AVX2__)
// Sixteen columns' numbers of Requantize.
struct Sixteen {
  __m256i correction[2];
  __m256 multiplier[2], offset[2];
  __m256i zero;               // of 16 bits
  __m256i least, most, flip;  // of 8 bits
};

template <bool Limited>
RL_INLINE __m256i scaled_sums(const Sixteen& s, const int32_t* sums, int i) {
  const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 8 * i));
  const __m256i sum = _mm256_add_epi32(from, s.correction[i]);
  const __m256 x = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), s.multiplier[i], s.offset[i]);
  // What is beyond 32 bits would become the least number.
  return _mm256_cvtps_epi32(Limited ? x : _mm256_min_ps(x, _mm256_set1_ps(1e9f)));
}

// Limited: no result is beyond 32 bits.
template <bool Limited>
RL_INLINE void requantize_sixteen(const Sixteen& s, const int32_t* sums, const SumRows& r, uint8_t* to) {
  const int64_t rows = r.rows, step = r.sums_stride, out_step = r.out_stride;
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int64_t i = 0; i < rows; i += 2, sums += 2 * step, to += 2 * out_step) {
    const int32_t* const next = i + 1 < rows ? sums + step : sums;
    const __m256i upper = _mm256_packs_epi32(scaled_sums<Limited>(s, sums, 0), scaled_sums<Limited>(s, sums, 1));
    const __m256i lower = _mm256_packs_epi32(scaled_sums<Limited>(s, next, 0), scaled_sums<Limited>(s, next, 1));
    __m256i bytes = _mm256_packs_epi16(_mm256_adds_epi16(upper, s.zero), _mm256_adds_epi16(lower, s.zero));
    bytes = _mm256_permutevar8x32_epi32(_mm256_min_epi8(_mm256_max_epi8(bytes, s.least), s.most), order);
    bytes = _mm256_xor_si256(bytes, s.flip);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    if (i + 1 == rows) return;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + out_step), _mm256_extracti128_si256(bytes, 1));
  }
}

// Sixteen columns at a time, narrowed with saturation; gives the columns that are done.
template <bool Corrected, bool Offset>
static int64_t requantize_sixteens(const Requantize& how, const SumRows& r, uint8_t* out) {
  const int shift = how.most > 127 ? 128 : 0;  // uint8
  Sixteen s;
  s.zero = _mm256_set1_epi16(static_cast<int16_t>(how.zero - shift));
  s.least = _mm256_set1_epi8(static_cast<char>(how.least - shift));
  s.most = _mm256_set1_epi8(static_cast<char>(how.most - shift));
  s.flip = _mm256_set1_epi8(static_cast<char>(shift));
  int64_t j = 0;
  for (; j + 16 <= r.columns; j += 16) {
    __m256 beyond = _mm256_setzero_ps();
    RL_UNROLL for (int i = 0; i < 2; ++i) {
      s.correction[i] = _mm256_setzero_si256();
      s.offset[i] = _mm256_setzero_ps();
      if constexpr (Corrected) {
        s.correction[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(how.correction + j + 8 * i));
      }
      if constexpr (Offset) s.offset[i] = _mm256_loadu_ps(how.offset + j + 8 * i);
      s.multiplier[i] = _mm256_loadu_ps(how.multiplier + j + 8 * i);
      // Not less than a quarter, or 2^29: then sums of 32 bits might give 2^31.
      beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.multiplier[i], _mm256_set1_ps(0.25f), _CMP_NLT_UQ));
      beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.multiplier[i], _mm256_set1_ps(-0.25f), _CMP_NGT_UQ));
      beyond = _mm256_or_ps(beyond, _mm256_cmp_ps(s.offset[i], _mm256_set1_ps(536870912.0f), _CMP_NLT_UQ));
    }
    if (_mm256_movemask_ps(beyond) == 0) {
      requantize_sixteen<true>(s, r.sums + j, r, out + j);
    } else {
      requantize_sixteen<false>(s, r.sums + j, r, out + j);
    }
  }
  return j;
}
#endif

template <bool Corrected, bool Offset>
static void requantize_rows(const Requantize& how, const SumRows& r, uint8_t* out) {
  const float least = static_cast<float>(how.least - how.zero), most = static_cast<float>(how.most - how.zero);
  const int32_t zero = how.zero - kRoundingBits;
  const Reals lowest = least - Reals{}, highest = most - Reals{};
#if defined(RL_TILES_NARROW) && defined(__AVX2__)
  int64_t j = requantize_sixteens<Corrected, Offset>(how, r, out);
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
    uint8_t* to = out + j;
    for (int64_t i = 0; i < r.rows; ++i, sums += r.sums_stride, to += r.out_stride) {
      Reals x = __builtin_convertvector(wrapping_sum(load_lanes(sums), correction), Reals) * multiplier + offset;
      x = x > lowest ? x : lowest;
      x = x < highest ? x : highest;
      store_narrow(to, Narrowed(reinterpret_cast<Lanes>(x + kRounding) + zero));
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      // What has no place in 32 bits wraps, as it does in the vectors above.
      const uint32_t sum = static_cast<uint32_t>(r.sums[i * r.sums_stride + j]);
      const uint32_t corrected = sum + static_cast<uint32_t>(Corrected ? how.correction[j] : 0);
      float x = static_cast<float>(static_cast<int32_t>(corrected));
      x = x * how.multiplier[j] + (Offset ? how.offset[j] : 0.0f);
      x = x > least ? x : least;
      x = (x < most ? x : most) + kRounding;
      int32_t bits;
      std::memcpy(&bits, &x, sizeof(bits));
      out[i * r.out_stride + j] = static_cast<uint8_t>(bits + zero);
    }
  }
}

static void requantize(const Requantize& how, const SumRows& rows, uint8_t* out) {
  if (how.correction && how.offset) return requantize_rows<true, true>(how, rows, out);
  if (how.correction) return requantize_rows<true, false>(how, rows, out);
  if (how.offset) return requantize_rows<false, true>(how, rows, out);
  requantize_rows<false, false>(how, rows, out);
}

static void dequantize(const Dequantize& how, const SumRows& r, float* out) {
  const Reals least = how.least - Reals{}, most = how.most - Reals{};
  int64_t j = 0;
  for (; j + kLanes <= r.columns; j += kLanes) {
    const Lanes right_sums = load_lanes(how.right_sums + j);
    const Reals multiplier = load_reals(how.multiplier + j);
    const Reals offset = how.offset ? load_reals(how.offset + j) : Reals{};
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zeros[i * how.step] + how.zero_offset;
      const Lanes sum = load_lanes(r.sums + i * r.sums_stride + j) - zero * right_sums;
      Reals x = __builtin_convertvector(sum, Reals) * (how.scales[i * how.step] * multiplier) + offset;
      if (how.accumulate) x += load_reals(out + i * r.out_stride + j);
      x = x < least ? least : x;
      *reinterpret_cast<LooseReals*>(out + i * r.out_stride + j) = x > most ? most : x;
    }
  }
  for (; j < r.columns; ++j) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const int32_t zero = how.zeros[i * how.step] + how.zero_offset;
      const float sum = static_cast<float>(r.sums[i * r.sums_stride + j] - zero * how.right_sums[j]);
      float x = sum * (how.scales[i * how.step] * how.multiplier[j]) + (how.offset ? how.offset[j] : 0.0f);
      if (how.accumulate) x += out[i * r.out_stride + j];
      x = x < how.least ? how.least : x;
      out[i * r.out_stride + j] = x > how.most ? how.most : x;
    }
  }
}

}  // namespace rushlight::tiles::RL_TILES_ISA
