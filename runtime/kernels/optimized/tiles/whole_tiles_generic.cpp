#define RL_TILES_ISA generic_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::generic_whole {

extern const WholeTiles tiles = make_whole_tiles("generic");

}  // namespace rushlight::tiles::generic_whole
