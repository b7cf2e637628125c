#define RL_TILES_ISA rvv_bytes
#define RL_TILES_LANES 4
#define RL_TILES_ROWS 8
#include "kernels/optimized/tiles/impl/byte_vectors.h"
// Before what asks for it.
#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::rvv_bytes {

extern const ByteTiles tiles = make_byte_tiles("rvv");

}  // namespace rushlight::tiles::rvv_bytes
