#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA generic_bytes

namespace rushlight::tiles::generic_bytes {

inline constexpr int kLanes = 4, kGroup = 2, kTileRows = 4, kTileVectors = 2, kLeftOffset = 0;
using Left = int16_t;
typedef int32_t Sums __attribute__((vector_size(16)));
struct Right {
  Sums first, second;  // of each column's pair
};
struct Spread {
  int32_t first, second;
};

RL_INLINE Right load_right(const int8_t* p) {
  typedef int8_t Bytes __attribute__((vector_size(4)));
  typedef int8_t LooseBytes __attribute__((vector_size(8), aligned(1), may_alias));
  const auto pairs = *reinterpret_cast<const LooseBytes*>(p);
  const Bytes first = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6);
  const Bytes second = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7);
  return {__builtin_convertvector(first, Sums), __builtin_convertvector(second, Sums)};
}
RL_INLINE Spread spread(const Left* p) { return {p[0], p[1]}; }
RL_INLINE void add_products(Sums& sums, Spread left, const Right& right) {
  sums += left.first * right.first + left.second * right.second;
}

inline constexpr int kDotRows = 2;
using Line = Right;
RL_INLINE Line load_line(const Left* p) { return {Sums{p[0], p[2], p[4], p[6]}, Sums{p[1], p[3], p[5], p[7]}}; }
RL_INLINE void add_lines(Sums& sums, const Line& left, const Right& right) {
  sums += left.first * right.first + left.second * right.second;
}

}  // namespace rushlight::tiles::generic_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::generic_bytes {

extern const ByteTiles tiles = make_byte_tiles("generic");

}  // namespace rushlight::tiles::generic_bytes
