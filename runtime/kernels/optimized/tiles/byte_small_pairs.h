// Products with weights whose pairs have small sums: 255 times such a sum, and so the sum of two products with uint8,
// fits 16 bits, and instructions that saturate there are exact.
#pragma once

#include "kernels/optimized/tiles/byte_tiles.h"

namespace rushlight::tiles {

inline constexpr int kMostPair = 128;

// The set for such weights on the machine of `tiles`, or null if that is no faster. Its left numbers are unsigned.
const ByteTiles* small_pair_tiles(const ByteTiles& tiles);
// Whether that is so for all `count` numbers of packed panels, of which two and two lie together.
bool has_small_pairs(const int8_t* panels, int64_t count);

}  // namespace rushlight::tiles
