#define RL_TILES_ISA neon_dotprod_bytes
#define RL_TILES_SDOT

#include "kernels/optimized/tiles/impl/byte_neon.h"

namespace rushlight::tiles::neon_dotprod_bytes {

inline constexpr int kLanes = 4, kGroup = 4, kTileRows = 12, kTileVectors = 2, kLeftOffset = 0;
using Left = int8_t;
using Spread = int8x16_t;

RL_INLINE Spread spread(const Left* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
RL_INLINE void add_products(Sums& sums, Spread left, Right right) { sums = vdotq_s32(sums, left, right); }

}  // namespace rushlight::tiles::neon_dotprod_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::neon_dotprod_bytes {

extern const ByteTiles tiles = make_byte_tiles("neon_dotprod");

}  // namespace rushlight::tiles::neon_dotprod_bytes
