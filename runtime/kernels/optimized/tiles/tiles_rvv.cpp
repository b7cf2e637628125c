#define RL_TILES_ISA rvv
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::rvv {

extern const Tiles tiles = make_tiles("rvv");

}  // namespace rushlight::tiles::rvv
