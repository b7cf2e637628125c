// Sums of pairs of int16 in vectors of 256 bits for byte_winograd.h, in namespace rushlight::tiles::RL_TILES_ISA; by
// vpdpwssd with RL_TILES_VNNI.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

inline constexpr int kLanes = 8, kGroup = 2, kTileRows = 6;
using Left = int16_t;
using Sums = __m256i;
using Spread = __m256i;

RL_INLINE __m256i load_right(const int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RL_INLINE Spread spread(const Left* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm256_set1_epi32(pair);
}
#if RL_TILES_VNNI
// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread left, __m256i right) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(left), "x"(right));
}
#else
RL_INLINE void add_products(Sums& sums, Spread left, __m256i right) {
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(left, right));
}
#endif

}  // namespace rushlight::tiles::RL_TILES_ISA
