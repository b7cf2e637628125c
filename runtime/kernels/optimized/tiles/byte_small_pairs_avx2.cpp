#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/optimized/tiles/byte_small_pairs.h"
#include "kernels/optimized/tiles/impl/inline.h"

#define RL_TILES_ISA small_pairs_bytes

namespace rushlight::tiles::small_pairs_bytes {

// vpmaddubsw.
inline constexpr int kLanes = 8, kGroup = 4, kTileRows = 6;
using Left = uint8_t;
using Sums = __m256i;
using Spread = __m256i;

// Left where it is: with sums, ones and both vectors of the right operand there were more than 16 registers.
RL_INLINE const int8_t* load_right(const int8_t* p) { return p; }
RL_INLINE Spread spread(const Left* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}
RL_INLINE void add_products(Sums& sums, Spread left, const int8_t* right) {
  typedef int8_t Bytes __attribute__((vector_size(32), aligned(1), may_alias));
  __m256i pairs;
  asm("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(left), "m"(*reinterpret_cast<const Bytes*>(right)));
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

}  // namespace rushlight::tiles::small_pairs_bytes

#include "kernels/optimized/tiles/impl/byte_sums.h"

namespace rushlight::tiles::small_pairs_bytes {

namespace {

void pack_left(const uint8_t* from, uint8_t flip, int64_t n, void* to) {
  uint8_t* const left = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < n; ++i) left[i] = static_cast<uint8_t>(from[i] ^ flip ^ 0x80);
}

void fill_left(int8_t value, int64_t n, void* to) { std::memset(to, value ^ 0x80, static_cast<size_t>(n)); }

}  // namespace

// Beside what products with packed weights need, `base`, of eight lanes too, has it.
ByteTiles tiles_over(const ByteTiles& base) {
  ByteTiles t = base;
  t.name = "avx2 small pairs";
  t.rows = kTileRows;
  t.group = kGroup;
  t.left_size = 1;
  t.left_offset = 128;
  t.pack_left = &pack_left;
  t.fill_left = &fill_left;
  t.gemm = &sums_of<ByteTile>;
  t.dots = nullptr;
  return t;
}

}  // namespace rushlight::tiles::small_pairs_bytes
