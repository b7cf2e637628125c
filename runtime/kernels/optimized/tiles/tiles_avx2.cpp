#define RL_TILES_ISA avx2
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::avx2 {

extern const Tiles tiles = make_tiles("avx2");

}  // namespace rushlight::tiles::avx2
