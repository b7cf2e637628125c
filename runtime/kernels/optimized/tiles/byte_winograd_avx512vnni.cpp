#define RL_TILES_ISA avx512vnni_winograd
#define RL_TILES_VNNI 1

#include "kernels/optimized/tiles/impl/short_sums512.h"
// After the sums that it is made of.
#include "kernels/optimized/tiles/impl/byte_winograd.h"

namespace rushlight::tiles::RL_TILES_ISA {

extern const ByteWinogradLoops loops = make_byte_winograd();

}  // namespace rushlight::tiles::RL_TILES_ISA
