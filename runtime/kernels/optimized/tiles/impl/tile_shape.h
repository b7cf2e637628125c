#pragma once

#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::RL_TILES_ISA {

// Rows and vectors of a tile: accumulators, the vectors of B and one broadcast of A fill the register file.
#if RL_TILES_WIDTH >= 16
inline constexpr int kTileRows = 14, kTileVectors = 2;
#elif defined(__aarch64__) || defined(__riscv_vector)
inline constexpr int kTileRows = 8, kTileVectors = 3;
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;
#endif

}  // namespace rushlight::tiles::RL_TILES_ISA
