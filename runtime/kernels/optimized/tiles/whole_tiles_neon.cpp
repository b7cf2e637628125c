#define RL_TILES_ISA neon_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::neon_whole {

extern const WholeTiles tiles = make_whole_tiles("neon");

}  // namespace rushlight::tiles::neon_whole
