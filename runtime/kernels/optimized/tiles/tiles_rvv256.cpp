#define RL_TILES_ISA rvv256
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::rvv256 {

extern const Tiles tiles = make_tiles("rvv256");

}  // namespace rushlight::tiles::rvv256
