// Vectors of 16 floats, as AVX-512 has them, on AVX2.
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#pragma GCC diagnostic ignored "-Wpsabi"
#define RL_TILES_ISA wide
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::wide {

extern const Tiles tiles = make_tiles("wide");

}  // namespace rushlight::tiles::wide

#endif
