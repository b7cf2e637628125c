#define RL_TILES_ISA avx512_whole
#include "kernels/optimized/tiles/impl/whole.h"

namespace rushlight::tiles::avx512_whole {

extern const WholeTiles tiles = make_whole_tiles("avx512");

}  // namespace rushlight::tiles::avx512_whole
