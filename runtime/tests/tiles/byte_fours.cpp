// Sums of unsigned by signed products in groups of four, as VNNI has them, in plain C++.
#include <cstdint>

#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA fours_bytes

namespace rushlight::tiles::fours_bytes {

inline constexpr int kLanes = 4, kGroup = 4, kTileRows = 14, kTileVectors = 2, kLeftOffset = 128;
using Left = uint8_t;
typedef int32_t Sums __attribute__((vector_size(16)));
using Right = const int8_t*;
using Spread = const uint8_t*;

RL_INLINE Right load_right(const int8_t* p) { return p; }
RL_INLINE Spread spread(const Left* p) { return p; }
RL_INLINE void add_products(Sums& sums, Spread left, Right right) {
  for (int j = 0; j < kLanes; ++j) {
    for (int l = 0; l < kGroup; ++l) sums[j] += left[l] * right[j * kGroup + l];
  }
}

inline constexpr int kDotRows = 2;
using Line = const uint8_t*;
RL_INLINE Line load_line(const Left* p) { return p; }
RL_INLINE void add_lines(Sums& sums, Line left, Right right) {
  for (int j = 0; j < kLanes; ++j) {
    for (int l = 0; l < kGroup; ++l) sums[j] += left[j * kGroup + l] * right[j * kGroup + l];
  }
}

}  // namespace rushlight::tiles::fours_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::fours_bytes {

extern const ByteTiles tiles = make_byte_tiles("fours");

}  // namespace rushlight::tiles::fours_bytes
