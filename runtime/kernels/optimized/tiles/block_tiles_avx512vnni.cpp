#define RL_TILES_ISA avx512vnni_blocks
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::avx512vnni_blocks {

// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) { asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y)); }

}  // namespace rushlight::tiles::avx512vnni_blocks

#include "kernels/optimized/tiles/impl/blocks.h"

namespace rushlight::tiles::avx512vnni_blocks {

extern const BlockTiles tiles = make_block_tiles("avx512vnni");

}  // namespace rushlight::tiles::avx512vnni_blocks
