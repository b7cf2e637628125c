#define RL_TILES_ISA neon_half
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::neon_half {

extern const HalfTiles tiles = make_half_tiles("neon");

}  // namespace rushlight::tiles::neon_half
