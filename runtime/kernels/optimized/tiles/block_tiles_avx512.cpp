#define RL_TILES_ISA avx512_blocks
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::avx512_blocks {

// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  Ints products;
  asm("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(x), "v"(y));
  asm("vpaddd %1, %0, %0" : "+v"(sums) : "v"(products));
}

}  // namespace rushlight::tiles::avx512_blocks

#include "kernels/optimized/tiles/impl/blocks.h"

namespace rushlight::tiles::avx512_blocks {

extern const BlockTiles tiles = make_block_tiles("avx512");

}  // namespace rushlight::tiles::avx512_blocks
