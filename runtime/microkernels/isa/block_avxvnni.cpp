#define RL_ISA avxvnni_blocks
#define RL_WIDTH 8
#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::avxvnni_blocks {

// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(x), "x"(y));
}

}  // namespace rushlight::microkernels::avxvnni_blocks

#include "microkernels/gemm/impl/block.h"

namespace rushlight::microkernels::avxvnni_blocks {

extern const BlockMicrokernels table = make_block_table("avxvnni");

}  // namespace rushlight::microkernels::avxvnni_blocks
