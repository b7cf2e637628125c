#define RL_TILES_ISA rvv_half
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::rvv_half {

extern const HalfTiles tiles = make_half_tiles("rvv");

}  // namespace rushlight::tiles::rvv_half
