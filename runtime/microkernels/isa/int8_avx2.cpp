#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

#define RL_ISA avx2_int8

namespace rushlight::microkernels::avx2_int8 {

// The products use vpmaddwd, which multiplies int16 numbers and is exact. vpmaddubsw would saturate.
inline constexpr int kLanes = 8, kGroup = 2, kTileRows = 6, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int16_t;
using Sums = __m256i;
using Rhs = __m256i;
using Spread = __m256i;

RL_INLINE Rhs load_rhs(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
RL_INLINE Spread spread(const Lhs* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm256_set1_epi32(pair);
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) {
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(lhs, rhs));
}

inline constexpr int kDotRows = 3;
using Line = __m256i;
RL_INLINE Line load_line(const Lhs* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

#define RL_PAIRS
RL_INLINE void add_pair(Sums& sums, const uint8_t* first, const uint8_t* second, uint8_t sign_mask,
                        const int16_t* weights) {
  const __m128i bytes = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)),
                                          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(second)));
  const __m256i numbers = _mm256_cvtepi8_epi16(_mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(sign_mask))));
  const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(numbers, w));
}

#define RL_BLOCKS_3X3
#define RL_NARROW
RL_INLINE void store_narrow(uint8_t* to, Sums sums) {
  const __m256i quads = _mm256_shuffle_epi8(sums, _mm256_set1_epi32(0x0c080400));
  const __m128i bytes = _mm_unpacklo_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
}

}  // namespace rushlight::microkernels::avx2_int8

#include "microkernels/dwconv/impl/int8_3x3_avx2.h"
#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::avx2_int8 {

static constexpr Int8Microkernels make_table() {
  Int8Microkernels t = make_int8_table("avx2");
  t.loops.depthwise_3x3 = &depthwise_3x3;
  t.loops.pack_depthwise_3x3 = &pack_depthwise_3x3;
  return t;
}
extern const Int8Microkernels table = make_table();

}  // namespace rushlight::microkernels::avx2_int8
