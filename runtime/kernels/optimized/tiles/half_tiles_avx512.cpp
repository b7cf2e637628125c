#define RL_TILES_ISA avx512_half
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/half.h"

namespace rushlight::tiles::avx512_half {

extern const HalfTiles tiles = make_half_tiles("avx512");

}  // namespace rushlight::tiles::avx512_half
