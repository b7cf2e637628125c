#define RL_TILES_ISA generic_half
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::generic_half {

extern const HalfTiles tiles = make_half_tiles("generic");

}  // namespace rushlight::tiles::generic_half
