// Pairs of bfloat16 in vectors of 16 floats, as AVX-512 has them, on AVX2.
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#pragma GCC diagnostic ignored "-Wpsabi"
#define RL_TILES_ISA wide_pairs
#define RL_TILES_WIDTH 16
#include "kernels/optimized/tiles/impl/half_types.h"

namespace rushlight::tiles::wide_pairs {

RL_INLINE void add_pairs(Floats& sums, Words x, Words y) {
  const auto high = [](Words v) { return reinterpret_cast<Floats>(v & 0xffff0000u); };
  const auto low = [](Words v) { return reinterpret_cast<Floats>(v << 16); };
  sums += high(x) * high(y);
  sums += low(x) * low(y);
}

}  // namespace rushlight::tiles::wide_pairs

#include "kernels/optimized/tiles/impl/pairs.h"

namespace rushlight::tiles::wide_pairs {

extern const PairTiles tiles = make_pair_tiles("wide");

}  // namespace rushlight::tiles::wide_pairs

#endif
