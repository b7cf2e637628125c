#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

#define RL_ISA avx512vnni_int8
#define RL_PRODUCTS

namespace rushlight::microkernels::avx512vnni_int8 {

inline constexpr int kLanes = 16, kGroup = 4, kTileRows = 14, kTileVectors = 2, kLhsOffset = 128;
using Lhs = uint8_t;
using Sums = __m512i;
using Rhs = __m512i;
using Spread = __m512i;

RL_INLINE Rhs load_rhs(const int8_t* p) { return _mm512_loadu_si512(p); }
RL_INLINE Spread spread(const Lhs* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return _mm512_set1_epi32(four);
}
// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(lhs), "v"(rhs));
}

inline constexpr int kDotRows = 6;
using Line = __m512i;
RL_INLINE Line load_line(const Lhs* p) { return _mm512_loadu_si512(p); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

#define RL_INT8_QUADS
template <typename Sums16>
RL_INLINE void add_quads(Sums16& sums, __m512i lhs, __m512i rhs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(lhs), "v"(rhs));
}

}  // namespace rushlight::microkernels::avx512vnni_int8

#include "microkernels/dwconv/impl/int8_3x3_avx512.h"
#include "microkernels/dwconv/impl/int8_quads_avx512.h"
#include "microkernels/gemm/impl/int4_panel_avx512.h"
#include "microkernels/gemm/impl/int8_amx.h"
#include "microkernels/gemm/impl/int8_avx512.h"
#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::avx512vnni_int8 {

// A permutation selects one of 128 entries by the low seven bits of a number. The highest bit selects the half.
__attribute__((target("avx512vbmi"))) static void look_up_vbmi(const uint8_t* from, const int8_t* entries, int64_t n,
                                                               int8_t* to) {
  const __m512i a = _mm512_loadu_si512(entries), b = _mm512_loadu_si512(entries + 64);
  const __m512i c = _mm512_loadu_si512(entries + 128), d = _mm512_loadu_si512(entries + 192);
  for (int64_t i = 0; i < n; i += 64) {
    const __mmask64 mask = n - i >= 64 ? ~__mmask64{0} : ~(~__mmask64{0} << (n - i));
    const __m512i x = _mm512_maskz_loadu_epi8(mask, from + i);
    const __m512i low = _mm512_permutex2var_epi8(a, x, b), high = _mm512_permutex2var_epi8(c, x, d);
    _mm512_mask_storeu_epi8(to + i, mask, _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
  }
}

static constexpr Int8Microkernels make_table() {
  Int8Microkernels t = make_int8_table("avx512vnni");
  RL_SET(expand_int4, expand_int4);
  RL_SET(int4_panel, int4_panel);
  t.prepare_requantize = &prepare_requantize;
  t.prepare_dequantize = &prepare_dequantize;
  t.gemm_pipelined = &gemm_pipelined;
  t.finish_pipelined = &finish_pipelined;
  t.gemm_results = &results_gemm;
  t.pack_rows = &pack_rows;
  t.loops.look_up = &look_up_vbmi;
  t.loops.depthwise_3x3 = &depthwise_3x3;
  t.loops.pack_depthwise_3x3 = &pack_depthwise_3x3;
  t.loops.depthwise_quads = &depthwise_quads;
  t.loops.pack_depthwise_quads = &pack_depthwise_quads;
  return t;
}

extern const Int8Microkernels table = make_table();
extern const Int8Microkernels amx_table = with_amx(make_table());

}  // namespace rushlight::microkernels::avx512vnni_int8
