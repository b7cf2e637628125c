#define RL_ISA neon_int8

#include "microkernels/simd/int8_neon.h"

namespace rushlight::microkernels::neon_int8 {

// The products use smull and sadalp. The sum of two products of int8 numbers fits into 16 bits.
inline constexpr int kLanes = 4, kGroup = 2, kTileRows = 8, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int8_t;
using Rhs = int8x8_t;
using Spread = int8x8_t;

RL_INLINE Rhs load_rhs(const int8_t* p) { return vld1_s8(p); }
RL_INLINE Spread spread(const Lhs* p) {
  int16_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return vreinterpret_s8_s16(vdup_n_s16(pair));
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) { sums = vpadalq_s16(sums, vmull_s8(lhs, rhs)); }

inline constexpr int kDotRows = 4;
using Line = int8x8_t;
RL_INLINE Line load_line(const Lhs* p) { return vld1_s8(p); }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

}  // namespace rushlight::microkernels::neon_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::neon_int8 {

extern const Int8Microkernels table = make_int8_table("neon");

}  // namespace rushlight::microkernels::neon_int8
