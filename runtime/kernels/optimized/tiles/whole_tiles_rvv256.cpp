#define RL_TILES_ISA rvv256_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::rvv256_whole {

extern const WholeTiles tiles = make_whole_tiles("rvv256");

}  // namespace rushlight::tiles::rvv256_whole
