#pragma once

#include "microkernels/simd/vec.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

// Rows and vectors of a tile. The accumulators, the vectors of B and one broadcast number of A fill the registers.
#if RL_WIDTH >= 16
inline constexpr int kTileRows = kIsSmall ? 7 : 14, kTileVectors = 2;
#elif defined(__aarch64__) || defined(__riscv_vector)
inline constexpr int kTileRows = 8, kTileVectors = 3;
#else
inline constexpr int kTileRows = 6, kTileVectors = 2;
#endif

}  // namespace rushlight::microkernels::RL_ISA
