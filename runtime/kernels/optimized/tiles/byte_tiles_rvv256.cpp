#define RL_TILES_ISA rvv256_bytes
#define RL_TILES_LANES 8
#define RL_TILES_ROWS 8
#include "kernels/optimized/tiles/impl/byte_vectors.h"
// Before what asks for it.
#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::rvv256_bytes {

extern const ByteTiles tiles = make_byte_tiles("rvv256");

}  // namespace rushlight::tiles::rvv256_bytes
