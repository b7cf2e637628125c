#define RL_TILES_ISA avx512bf16_pairs
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/half_types.h"

namespace rushlight::tiles::avx512bf16_pairs {

// As assembly, because compilers copy the sums around the intrinsic.
RL_INLINE void add_pairs(Floats& sums, Words x, Words y) { asm("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y)); }

}  // namespace rushlight::tiles::avx512bf16_pairs

#include "kernels/optimized/tiles/impl/pairs.h"

namespace rushlight::tiles::avx512bf16_pairs {

extern const PairTiles tiles = make_pair_tiles("avx512bf16");

}  // namespace rushlight::tiles::avx512bf16_pairs
