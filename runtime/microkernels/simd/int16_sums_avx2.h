// Sums of products of int16 pairs in vectors of 256 bits for winograd/impl/int8.h, in namespace
// rushlight::microkernels::RL_ISA. With RL_VNNI they use vpdpwssd.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kLanes = 8, kGroup = 2, kTileRows = 6;
using Lhs = int16_t;
using Sums = __m256i;
using Spread = __m256i;

RL_INLINE __m256i load_rhs(const int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RL_INLINE Spread spread(const Lhs* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm256_set1_epi32(pair);
}
#if RL_VNNI
// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread lhs, __m256i rhs) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(lhs), "x"(rhs));
}
#else
RL_INLINE void add_products(Sums& sums, Spread lhs, __m256i rhs) {
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(lhs, rhs));
}
#endif

}  // namespace rushlight::microkernels::RL_ISA
