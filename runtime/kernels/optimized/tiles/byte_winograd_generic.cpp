#include <cstdint>

#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA generic_winograd

namespace rushlight::tiles::generic_winograd {

inline constexpr int kLanes = 4, kGroup = 2, kTileRows = 4;
using Left = int16_t;
typedef uint32_t Sums __attribute__((vector_size(16), may_alias));
struct Pairs {
  Sums first, second;  // of each column's pair
};
struct Spread {
  uint32_t first, second;
};

RL_INLINE Pairs load_right(const int16_t* p) {
  typedef int16_t Halves __attribute__((vector_size(8)));
  typedef int16_t LooseShorts __attribute__((vector_size(16), aligned(2), may_alias));
  typedef int32_t Lanes __attribute__((vector_size(16)));
  const auto pairs = *reinterpret_cast<const LooseShorts*>(p);
  const Halves first = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6);
  const Halves second = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7);
  return {Sums(__builtin_convertvector(first, Lanes)), Sums(__builtin_convertvector(second, Lanes))};
}
RL_INLINE Spread spread(const Left* p) { return {static_cast<uint32_t>(p[0]), static_cast<uint32_t>(p[1])}; }
RL_INLINE void add_products(Sums& sums, Spread left, const Pairs& right) {
  sums += left.first * right.first + left.second * right.second;
}

}  // namespace rushlight::tiles::generic_winograd

#include "kernels/optimized/tiles/impl/byte_winograd.h"

namespace rushlight::tiles::generic_winograd {

extern const ByteWinogradLoops loops = make_byte_winograd();

}  // namespace rushlight::tiles::generic_winograd
