#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA avx512vnni_winograd

namespace rushlight::tiles::avx512vnni_winograd {

inline constexpr int kLanes = 16, kGroup = 2, kTileRows = 14;
using Left = int16_t;
using Sums = __m512i;
using Spread = __m512i;

RL_INLINE __m512i load_right(const int16_t* p) { return _mm512_loadu_si512(p); }
RL_INLINE Spread spread(const Left* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return _mm512_set1_epi32(pair);
}
// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread left, __m512i right) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(left), "v"(right));
}

}  // namespace rushlight::tiles::avx512vnni_winograd

#include "kernels/optimized/tiles/impl/byte_winograd.h"

namespace rushlight::tiles::avx512vnni_winograd {

extern const ByteWinogradLoops loops = make_byte_winograd();

}  // namespace rushlight::tiles::avx512vnni_winograd
