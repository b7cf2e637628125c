#define RL_TILES_ISA avx512
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::avx512 {

extern const Tiles tiles = make_tiles("avx512");

}  // namespace rushlight::tiles::avx512
