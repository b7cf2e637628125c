// Sums of products of int16 pairs in vectors of 512 bits for winograd/impl/int8.h, in namespace
// rushlight::microkernels::RL_ISA. With RL_VNNI they use vpdpwssd.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kLanes = 16, kGroup = 2, kTileRows = RL_VNNI ? 14 : 12;
using Lhs = int16_t;
using Sums = __m512i;
using Spread = __m512i;

RL_INLINE __m512i load_rhs(const int16_t* p) { return _mm512_loadu_si512(p); }
RL_INLINE Spread spread(const Lhs* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm512_set1_epi32(pair);
}
#if RL_VNNI
// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread lhs, __m512i rhs) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(lhs), "v"(rhs));
}
#else
RL_INLINE void add_products(Sums& sums, Spread lhs, __m512i rhs) {
  sums = _mm512_add_epi32(sums, _mm512_madd_epi16(lhs, rhs));
}
#endif

}  // namespace rushlight::microkernels::RL_ISA
