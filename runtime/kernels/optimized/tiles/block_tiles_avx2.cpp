#define RL_TILES_ISA avx2_blocks
#define RL_TILES_WIDTH 8
#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::avx2_blocks {

// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  Ints products;
  asm("vpmaddwd %2, %1, %0" : "=x"(products) : "x"(x), "x"(y));
  asm("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
}

}  // namespace rushlight::tiles::avx2_blocks

#include "kernels/optimized/tiles/impl/blocks.h"

namespace rushlight::tiles::avx2_blocks {

extern const BlockTiles tiles = make_block_tiles("avx2");

}  // namespace rushlight::tiles::avx2_blocks
