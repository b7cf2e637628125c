#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA avx512vnni_bytes

namespace rushlight::tiles::avx512vnni_bytes {

inline constexpr int kLanes = 16, kGroup = 4, kTileRows = 14, kTileVectors = 2, kLeftOffset = 128;
using Left = uint8_t;
using Sums = __m512i;
using Right = __m512i;
using Spread = __m512i;

RL_INLINE Right load_right(const int8_t* p) { return _mm512_loadu_si512(p); }
RL_INLINE Spread spread(const Left* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return _mm512_set1_epi32(four);
}
// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread left, Right right) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(left), "v"(right));
}

inline constexpr int kDotRows = 6;
using Line = __m512i;
RL_INLINE Line load_line(const Left* p) { return _mm512_loadu_si512(p); }
RL_INLINE void add_lines(Sums& sums, Line left, Right right) { add_products(sums, left, right); }

#define RL_TILES_BYTE_QUADS
template <typename Sums16>
RL_INLINE void add_quads(Sums16& sums, __m512i left, __m512i right) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(left), "v"(right));
}

#define RL_TILES_PAIRS
RL_INLINE void add_pair(Sums& sums, const uint8_t* first, const uint8_t* second, uint8_t flip, const int16_t* weights) {
  const __m128i change = _mm_set1_epi8(static_cast<char>(flip));
  const __m128i a = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)), change);
  const __m128i b = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), change);
  const __m256i pairs =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(a, b)), _mm_unpackhi_epi8(a, b), 1);
  sums = _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_cvtepi8_epi16(pairs), _mm512_loadu_si512(weights)));
}

}  // namespace rushlight::tiles::avx512vnni_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"
#include "kernels/optimized/tiles/impl/byte_gemm512.h"
#include "kernels/optimized/tiles/impl/byte_three512.h"

namespace rushlight::tiles::avx512vnni_bytes {

static constexpr ByteTiles make_tiles() {
  ByteTiles t = make_byte_tiles("avx512vnni");
  t.prepare_bytes = &prepare_bytes;
  t.prepare_reals = &prepare_reals;
  t.gemm_behind = &gemm_behind;
  t.finish_behind = &finish_behind;
  t.gemm_results = &results_gemm;
  t.pack_rows = &pack_rows;
  t.loops.depthwise_three = &depthwise_three;
  t.loops.pack_depthwise_three = &pack_depthwise_three;
  return t;
}

extern const ByteTiles tiles = make_tiles();

}  // namespace rushlight::tiles::avx512vnni_bytes
