#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

#define RL_ISA avx512_int8

namespace rushlight::microkernels::avx512_int8 {

inline constexpr int kLanes = 16, kGroup = 2, kTileRows = 12, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int16_t;
using Sums = __m512i;
using Rhs = __m512i;
using Spread = __m512i;

RL_INLINE Rhs load_rhs(const int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
RL_INLINE Spread spread(const Lhs* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm512_set1_epi32(pair);
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) {
  sums = _mm512_add_epi32(sums, _mm512_madd_epi16(lhs, rhs));
}

inline constexpr int kDotRows = 6;
using Line = __m512i;
RL_INLINE Line load_line(const Lhs* p) { return _mm512_loadu_si512(p); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

#define RL_PAIRS
RL_INLINE void add_pair(Sums& sums, const uint8_t* first, const uint8_t* second, uint8_t sign_mask,
                        const int16_t* weights) {
  const __m128i change = _mm_set1_epi8(static_cast<char>(sign_mask));
  const __m128i a = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)), change);
  const __m128i b = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), change);
  const __m256i pairs =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(a, b)), _mm_unpackhi_epi8(a, b), 1);
  sums = _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_cvtepi8_epi16(pairs), _mm512_loadu_si512(weights)));
}

}  // namespace rushlight::microkernels::avx512_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::avx512_int8 {

extern const Int8Microkernels table = make_int8_table("avx512");

}  // namespace rushlight::microkernels::avx512_int8
