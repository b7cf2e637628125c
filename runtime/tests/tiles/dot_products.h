#pragma once

#include <vector>

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/pair_tiles.h"

namespace rushlight::tiles {

// Sets that this processor runs but for their vpdpbusd between registers. From the first call on that is carried out
// for it: slowly, in a handler of SIGILL. Any other unknown instruction ends the program.
std::vector<const ByteTiles*> assisted_sets();
// The same for AVX-512's vdpbf16ps: null if this processor has it, or no AVX-512.
const PairTiles* assisted_pairs();

}  // namespace rushlight::tiles
