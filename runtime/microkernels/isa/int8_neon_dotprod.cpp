#define RL_ISA neon_dotprod_int8
#define RL_SDOT

#include "microkernels/simd/int8_neon.h"

namespace rushlight::microkernels::neon_dotprod_int8 {

inline constexpr int kLanes = 4, kGroup = 4, kTileRows = 12, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int8_t;
using Spread = int8x16_t;

RL_INLINE Spread spread(const Lhs* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) { sums = vdotq_s32(sums, lhs, rhs); }

}  // namespace rushlight::microkernels::neon_dotprod_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::neon_dotprod_int8 {

extern const Int8Microkernels table = make_int8_table("neon_dotprod");

}  // namespace rushlight::microkernels::neon_dotprod_int8
