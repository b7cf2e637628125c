#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "microkernels/gemm/int8_small_sums.h"
#include "microkernels/simd/inline.h"

#define RL_ISA small_sums_int8

namespace rushlight::microkernels::small_sums_int8 {

// The products use vpmaddubsw.
inline constexpr int kLanes = 8, kGroup = 4, kTileRows = 6;
using Lhs = uint8_t;
using Sums = __m256i;
using Spread = __m256i;

// The RHS is not loaded into registers, because the sums, the ones and both vectors of the RHS would need more than 16
// registers.
RL_INLINE const int8_t* load_rhs(const int8_t* p) { return p; }
RL_INLINE Spread spread(const Lhs* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof(four));
  return _mm256_set1_epi32(four);
}
RL_INLINE __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RL_INLINE void add_products(Sums& sums, Spread lhs, const int8_t* rhs) {
  typedef int8_t Bytes __attribute__((vector_size(32), aligned(1), may_alias));
  __m256i pairs;
  asm("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(lhs), "m"(*reinterpret_cast<const Bytes*>(rhs)));
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

}  // namespace rushlight::microkernels::small_sums_int8

#include "microkernels/gemm/impl/int8_sums.h"

namespace rushlight::microkernels::small_sums_int8 {

namespace {

// The maximum number of rows of a tile of quads. More rows would need more than 16 registers.
constexpr int kQuadRows = 5;

// Adds the pairs of two groups as int16 first. The sum of four products of small quads fits into 16 bits.
template <int Rows, int Vectors>
void quads_tile(const Int8Tile& t) {
  const __m256i ones = _mm256_set1_epi16(1);
  Sums acc[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    acc[i][j] = t.accumulate ? load(t.sums + i * t.sums_stride + j * kLanes) : _mm256_setzero_si256();
  }
  const Lhs* lhs = static_cast<const Lhs*>(t.lhs);
  const int8_t* rhs = t.rhs;
  constexpr int kStep = Vectors * kLanes * kGroup;
  int64_t g = 0;
  for (; g + 2 <= t.groups; g += 2, lhs += 2 * kGroup, rhs += 2 * kStep) {
    __m256i first[Vectors], second[Vectors];
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      first[j] = load(rhs + j * kLanes * kGroup), second[j] = load(rhs + kStep + j * kLanes * kGroup);
    }
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Spread x = spread(lhs + i * t.lhs_stride), y = spread(lhs + i * t.lhs_stride + kGroup);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) {
        const __m256i four = _mm256_add_epi16(_mm256_maddubs_epi16(x, first[j]), _mm256_maddubs_epi16(y, second[j]));
        acc[i][j] = _mm256_add_epi32(acc[i][j], _mm256_madd_epi16(four, ones));
      }
    }
  }
  if (g < t.groups) {
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      const Spread x = spread(lhs + i * t.lhs_stride);
      RL_UNROLL for (int j = 0; j < Vectors; ++j) add_products(acc[i][j], x, rhs + j * kLanes * kGroup);
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    *reinterpret_cast<Sums*>(t.sums + i * t.sums_stride + j * kLanes) = acc[i][j];
  }
}

template <int Vectors, int... I>
void quads_of(int rows, const Int8Tile& tile, std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Int8Tile&) = {&quads_tile<I + 1, Vectors>...};
  by_rows[rows - 1](tile);
}

void quads(int rows, int vectors, const Int8Tile& tile) {
  using Rows = std::make_integer_sequence<int, kQuadRows>;
  vectors == 1 ? quads_of<1>(rows, tile, Rows{}) : quads_of<2>(rows, tile, Rows{});
}

RL_INLINE void pack_bytes(const uint8_t* from, __m256i change, uint8_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(load(from), change));
}
RL_INLINE void pack_half(const uint8_t* from, __m256i change, uint8_t* to) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, _mm256_castsi256_si128(change)));
}

// The last vector of a row overlaps the vector before it.
void pack_rows(const LhsRows& lhs, int64_t rows, void* to) {
  const __m256i change = _mm256_set1_epi8(static_cast<char>(lhs.sign_mask ^ 0x80));
  const int64_t n = lhs.numbers;
  const uint8_t* from = lhs.from;
  uint8_t* row = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < rows; ++i, from += lhs.from_stride, row += lhs.to_stride) {
    int64_t j = 0;
    for (; j + 32 <= n; j += 32) pack_bytes(from + j, change, row + j);
    if (j == n) continue;
    if (n >= 32) {
      pack_bytes(from + n - 32, change, row + n - 32);
    } else if (n >= 16) {
      pack_half(from, change, row);
      pack_half(from + n - 16, change, row + n - 16);
    } else {
      for (; j < n; ++j) row[j] = static_cast<uint8_t>(from[j] ^ lhs.sign_mask ^ 0x80);
    }
  }
}

void pack_lhs(const uint8_t* from, uint8_t sign_mask, int64_t n, void* to) {
  pack_rows({from, 0, sign_mask, n, 0}, 1, to);
}

void fill_lhs(int8_t value, int64_t n, void* to) { std::memset(to, value ^ 0x80, static_cast<size_t>(n)); }

}  // namespace

// The panel is [groups, width, kGroup]; `width` is kLanes or 2 * kLanes.
SmallSums sums_of_panel(const int8_t* panel, int64_t groups, int64_t width) {
  const __m256i ones = _mm256_set1_epi8(1), zero = _mm256_setzero_si256();
  const int64_t step = width * kGroup;
  __m256i most = zero, max_pair = zero;
  for (int64_t g = 0; g < groups; g += 2, panel += 2 * step) {
    for (int64_t j = 0; j < step; j += kLanes * kGroup) {
      const __m256i x = load(panel + j), y = g + 1 < groups ? load(panel + step + j) : zero;
      max_pair = _mm256_max_epi16(max_pair, _mm256_abs_epi16(_mm256_maddubs_epi16(ones, x)));
      max_pair = _mm256_max_epi16(max_pair, _mm256_abs_epi16(_mm256_maddubs_epi16(ones, y)));
      const __m256i above = _mm256_add_epi16(_mm256_maddubs_epi16(ones, _mm256_max_epi8(x, zero)),
                                             _mm256_maddubs_epi16(ones, _mm256_max_epi8(y, zero)));
      const __m256i below = _mm256_add_epi16(_mm256_maddubs_epi16(ones, _mm256_min_epi8(x, zero)),
                                             _mm256_maddubs_epi16(ones, _mm256_min_epi8(y, zero)));
      most = _mm256_max_epi16(most, _mm256_max_epi16(above, _mm256_abs_epi16(below)));
    }
  }
  const __m256i limit = _mm256_set1_epi16(kMaxSmallSum);
  if (_mm256_movemask_epi8(_mm256_cmpgt_epi16(most, limit)) == 0) return SmallSums::Quads;
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(max_pair, limit)) == 0 ? SmallSums::Pairs : SmallSums::None;
}

// Returns a table whose GEMMs use pairs. All other members are those of `base`, which also has eight lanes.
Int8Microkernels pairs_over(const Int8Microkernels& base) {
  Int8Microkernels t = base;
  t.name = "avx2 small pairs";
  t.rows = kTileRows;
  t.group = kGroup;
  t.lhs_size = 1;
  t.lhs_offset = 128;
  t.pack_lhs = &pack_lhs;
  t.pack_rows = &pack_rows;
  t.fill_lhs = &fill_lhs;
  t.gemm = &sums_of<Int8Tile>;
  t.gemm_results = nullptr;
  t.dots = nullptr;
  return t;
}

Int8Microkernels quads_over(const Int8Microkernels& base) {
  Int8Microkernels t = pairs_over(base);
  t.name = "avx2 small quads";
  t.rows = kQuadRows;
  t.gemm = &quads;
  return t;
}

}  // namespace rushlight::microkernels::small_sums_int8
