#define RL_TILES_ISA neon
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::neon {

extern const Tiles tiles = make_tiles("neon");

}  // namespace rushlight::tiles::neon
