#define RL_TILES_ISA avx2_half
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::avx2_half {

extern const HalfTiles tiles = make_half_tiles("avx2");

}  // namespace rushlight::tiles::avx2_half
