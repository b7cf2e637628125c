#define RL_TILES_ISA generic_bytes
#define RL_TILES_LANES 4
#define RL_TILES_ROWS 4
#include "kernels/optimized/tiles/impl/byte_vectors.h"
// Before what asks for it.
#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::generic_bytes {

extern const ByteTiles tiles = make_byte_tiles("generic");

}  // namespace rushlight::tiles::generic_bytes
