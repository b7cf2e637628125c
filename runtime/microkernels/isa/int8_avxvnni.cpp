#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

#define RL_ISA avxvnni_int8
#define RL_PRODUCTS

namespace rushlight::microkernels::avxvnni_int8 {

inline constexpr int kLanes = 8, kGroup = 4, kTileRows = 6, kTileVectors = 2, kLhsOffset = 128;
using Lhs = uint8_t;
using Sums = __m256i;
using Rhs = __m256i;
using Spread = __m256i;

RL_INLINE Rhs load_rhs(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RL_INLINE Spread spread(const Lhs* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}
// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(lhs), "x"(rhs));
}

inline constexpr int kDotRows = 3;
using Line = __m256i;
RL_INLINE Line load_line(const Lhs* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

#define RL_INT8_QUADS
template <typename Sums8>
RL_INLINE void add_quads(Sums8& sums, __m256i lhs, __m256i rhs) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(lhs), "x"(rhs));
}

}  // namespace rushlight::microkernels::avxvnni_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::avxvnni_int8 {

extern const Int8Microkernels table = make_int8_table("avxvnni");

}  // namespace rushlight::microkernels::avxvnni_int8
