#define RL_TILES_ISA neon_bytes

#include "kernels/optimized/tiles/impl/byte_neon.h"

namespace rushlight::tiles::neon_bytes {

// smull and sadalp: two products of int8 fit 16 bits each.
inline constexpr int kLanes = 4, kGroup = 2, kTileRows = 8, kTileVectors = 2, kLeftOffset = 0;
using Left = int8_t;
using Right = int8x8_t;
using Spread = int8x8_t;

RL_INLINE Right load_right(const int8_t* p) { return vld1_s8(p); }
RL_INLINE Spread spread(const Left* p) {
  int16_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return vreinterpret_s8_s16(vdup_n_s16(pair));
}
RL_INLINE void add_products(Sums& sums, Spread left, Right right) { sums = vpadalq_s16(sums, vmull_s8(left, right)); }

inline constexpr int kDotRows = 4;
using Line = int8x8_t;
RL_INLINE Line load_line(const Left* p) { return vld1_s8(p); }
RL_INLINE void add_lines(Sums& sums, Line left, Right right) { add_products(sums, left, right); }

}  // namespace rushlight::tiles::neon_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::neon_bytes {

extern const ByteTiles tiles = make_byte_tiles("neon");

}  // namespace rushlight::tiles::neon_bytes
