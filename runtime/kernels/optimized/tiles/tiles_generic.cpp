#define RL_TILES_ISA generic
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::generic {

extern const Tiles tiles = make_tiles("generic");

}  // namespace rushlight::tiles::generic
