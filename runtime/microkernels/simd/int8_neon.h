// The parts that all int8 tables for NEON share, in namespace rushlight::microkernels::RL_ISA: add_pair() for
// conv/impl/int8_channels.h and, if RL_SDOT is defined, the names that gemm/impl/int8_dots.h needs.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

using Sums = int32x4_t;

#if defined(RL_SDOT)
inline constexpr int kDotRows = 5;
using Line = int8x16_t;
using Rhs = int8x16_t;
RL_INLINE Line load_line(const int8_t* p) { return vld1q_s8(p); }
RL_INLINE Rhs load_rhs(const int8_t* p) { return vld1q_s8(p); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { sums = vdotq_s32(sums, lhs, rhs); }
using Spread = int8x16_t;
RL_INLINE Spread spread(const int8_t* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) { sums = vdotq_s32(sums, lhs, rhs); }
#endif

#define RL_PAIRS
RL_INLINE void add_pair(Sums& sums, const uint8_t* first, const uint8_t* second, uint8_t sign_mask,
                        const int16_t* weights) {
  uint32_t a, b;
  std::memcpy(&a, first, sizeof(a));
  std::memcpy(&b, second, sizeof(b));
  const uint8x8_t bytes = veor_u8(vreinterpret_u8_u32(vset_lane_u32(b, vdup_n_u32(a), 1)), vdup_n_u8(sign_mask));
  const int16x8_t numbers = vmovl_s8(vreinterpret_s8_u8(bytes));
  const int16x4x2_t w = vld2_s16(weights);
  sums = vmlal_s16(vmlal_s16(sums, vget_low_s16(numbers), w.val[0]), vget_high_s16(numbers), w.val[1]);
}

}  // namespace rushlight::microkernels::RL_ISA
