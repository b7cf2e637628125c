// GCC 12 for riscv64 does not see that what is left of a row is less than a vector.
#if defined(__riscv) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#define RL_TILES_ISA generic
#define RL_TILES_WIDTH 4
#include "kernels/optimized/tiles/impl/all.h"

namespace rushlight::tiles::generic {

extern const Tiles tiles = make_tiles("generic");

}  // namespace rushlight::tiles::generic
