#define RL_TILES_ISA rvv_winograd
#define RL_TILES_LANES 4
#define RL_TILES_ROWS 8
#include "kernels/optimized/tiles/impl/short_vectors.h"
// Before what asks for it.
#include "kernels/optimized/tiles/impl/byte_winograd.h"

namespace rushlight::tiles::rvv_winograd {

extern const ByteWinogradLoops loops = make_byte_winograd();

}  // namespace rushlight::tiles::rvv_winograd
