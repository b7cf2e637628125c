#define RL_ISA avx512_blocks
#define RL_WIDTH 16
#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::avx512_blocks {

// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  Ints products;
  asm("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(x), "v"(y));
  asm("vpaddd %1, %0, %0" : "+v"(sums) : "v"(products));
}

}  // namespace rushlight::microkernels::avx512_blocks

#include "microkernels/gemm/impl/block.h"

namespace rushlight::microkernels::avx512_blocks {

extern const BlockMicrokernels table = make_block_table("avx512");

}  // namespace rushlight::microkernels::avx512_blocks
