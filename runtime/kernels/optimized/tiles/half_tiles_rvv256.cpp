#define RL_TILES_ISA rvv256_half
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::rvv256_half {

extern const HalfTiles tiles = make_half_tiles("rvv256");

}  // namespace rushlight::tiles::rvv256_half
