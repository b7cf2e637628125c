#pragma once

#include <vector>

#include "kernels/optimized/tiles/byte_tiles.h"

namespace rushlight::tiles {

// Sets that this processor runs but for their vpdpbusd between registers. From the first call on that is carried out
// for it: slowly, in a handler of SIGILL. Any other unknown instruction ends the program.
std::vector<const ByteTiles*> assisted_sets();

}  // namespace rushlight::tiles
