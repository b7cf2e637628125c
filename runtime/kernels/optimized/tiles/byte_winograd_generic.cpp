#define RL_TILES_ISA generic_winograd
#define RL_TILES_LANES 4
#define RL_TILES_ROWS 4
#include "kernels/optimized/tiles/impl/short_vectors.h"
// Before what asks for it.
#include "kernels/optimized/tiles/impl/byte_winograd.h"

namespace rushlight::tiles::generic_winograd {

extern const ByteWinogradLoops loops = make_byte_winograd();

}  // namespace rushlight::tiles::generic_winograd
