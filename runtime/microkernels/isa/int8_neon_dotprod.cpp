#define RL_ISA neon_dotprod_int8
#define RL_SDOT

#include "microkernels/simd/int8_neon.h"

namespace rushlight::microkernels::neon_dotprod_int8 {

inline constexpr int kLanes = 4, kGroup = 4, kTileRows = 12, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int8_t;

}  // namespace rushlight::microkernels::neon_dotprod_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::neon_dotprod_int8 {

extern const Int8Microkernels table = make_int8_table("neon_dotprod");

}  // namespace rushlight::microkernels::neon_dotprod_int8
