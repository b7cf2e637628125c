#define RL_ISA avx512bf16_pairs
#define RL_WIDTH 16
#include "microkernels/simd/f16_types.h"

namespace rushlight::microkernels::avx512bf16_pairs {

// This is assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Floats& sums, Words x, Words y) { asm("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y)); }

}  // namespace rushlight::microkernels::avx512bf16_pairs

#include "microkernels/gemm/impl/bf16_amx.h"
#include "microkernels/gemm/impl/bf16_pairs.h"

namespace rushlight::microkernels::avx512bf16_pairs {

extern const Bf16PairMicrokernels table = make_bf16_pair_table("avx512bf16");
extern const Bf16PairMicrokernels amx_table = make_amx_pair_table("avx512amx");

}  // namespace rushlight::microkernels::avx512bf16_pairs
