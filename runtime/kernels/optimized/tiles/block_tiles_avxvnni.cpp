#define RL_TILES_ISA avxvnni_blocks
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::avxvnni_blocks {

// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(x), "x"(y));
}

}  // namespace rushlight::tiles::avxvnni_blocks

#include "kernels/optimized/tiles/impl/blocks.h"

namespace rushlight::tiles::avxvnni_blocks {

extern const BlockTiles tiles = make_block_tiles("avxvnni");

}  // namespace rushlight::tiles::avxvnni_blocks
