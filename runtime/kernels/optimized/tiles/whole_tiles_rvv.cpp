#define RL_TILES_ISA rvv_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::rvv_whole {

extern const WholeTiles tiles = make_whole_tiles("rvv");

}  // namespace rushlight::tiles::rvv_whole
