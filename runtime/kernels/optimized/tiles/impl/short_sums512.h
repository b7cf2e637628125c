// Sums of pairs of int16 in vectors of 512 bits for byte_winograd.h, in namespace rushlight::tiles::RL_TILES_ISA; by
// vpdpwssd with RL_TILES_VNNI.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

inline constexpr int kLanes = 16, kGroup = 2, kTileRows = RL_TILES_VNNI ? 14 : 12;
using Left = int16_t;
using Sums = __m512i;
using Spread = __m512i;

RL_INLINE __m512i load_right(const int16_t* p) { return _mm512_loadu_si512(p); }
RL_INLINE Spread spread(const Left* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm512_set1_epi32(pair);
}
#if RL_TILES_VNNI
// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread left, __m512i right) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(left), "v"(right));
}
#else
RL_INLINE void add_products(Sums& sums, Spread left, __m512i right) {
  sums = _mm512_add_epi32(sums, _mm512_madd_epi16(left, right));
}
#endif

}  // namespace rushlight::tiles::RL_TILES_ISA
