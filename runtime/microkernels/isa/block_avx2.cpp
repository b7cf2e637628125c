#define RL_ISA avx2_blocks
#define RL_WIDTH 8
#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::avx2_blocks {

// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  Ints products;
  asm("vpmaddwd %2, %1, %0" : "=x"(products) : "x"(x), "x"(y));
  asm("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
}

}  // namespace rushlight::microkernels::avx2_blocks

#include "microkernels/gemm/impl/block.h"

namespace rushlight::microkernels::avx2_blocks {

extern const BlockMicrokernels table = make_block_table("avx2");

}  // namespace rushlight::microkernels::avx2_blocks
