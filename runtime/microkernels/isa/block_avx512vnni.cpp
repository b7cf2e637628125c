#define RL_ISA avx512vnni_blocks
#define RL_WIDTH 16
#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::avx512vnni_blocks {

// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Ints& sums, Ints x, Ints y) { asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y)); }

}  // namespace rushlight::microkernels::avx512vnni_blocks

#include "microkernels/gemm/impl/block.h"

namespace rushlight::microkernels::avx512vnni_blocks {

extern const BlockMicrokernels table = make_block_table("avx512vnni");

}  // namespace rushlight::microkernels::avx512vnni_blocks
