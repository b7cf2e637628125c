#define RL_TILES_ISA avx2_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::avx2_whole {

extern const WholeTiles tiles = make_whole_tiles("avx2");

}  // namespace rushlight::tiles::avx2_whole
