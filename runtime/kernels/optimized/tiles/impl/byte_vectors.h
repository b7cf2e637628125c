// Products of bytes in vectors of the compiler of RL_TILES_LANES sums, in namespace rushlight::tiles::RL_TILES_ISA;
// tiles have RL_TILES_ROWS rows. What byte_gemm.h asks for.
#pragma once

#include <cstdint>

#include "kernels/optimized/tiles/impl/inline.h"

namespace rushlight::tiles::RL_TILES_ISA {

inline constexpr int kLanes = RL_TILES_LANES, kGroup = 2, kTileRows = RL_TILES_ROWS, kTileVectors = 2, kLeftOffset = 0;
inline constexpr int kDotRows = 2;
using Left = int16_t;
typedef int32_t Sums __attribute__((vector_size(kLanes * 4)));
#if defined(__wasm_simd128__) && RL_TILES_LANES == 4

// i32x4.dot_i16x8_s
typedef int16_t Pairs __attribute__((vector_size(16)));
using Right = Pairs;
using Spread = Pairs;
using Line = Pairs;

RL_INLINE Right load_right(const int8_t* p) {
  typedef int8_t LooseBytes __attribute__((vector_size(8), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const LooseBytes*>(p), Pairs);
}
RL_INLINE Spread spread(const Left* p) {
  typedef int32_t LoosePair __attribute__((aligned(2), may_alias));
  return reinterpret_cast<Spread>(*reinterpret_cast<const LoosePair*>(p) - Sums{});
}
RL_INLINE void add_products(Sums& sums, Spread left, Right right) {
  sums += __builtin_wasm_dot_s_i32x4_i16x8(left, right);
}
RL_INLINE Line load_line(const Left* p) {
  typedef int16_t LoosePairs __attribute__((vector_size(16), aligned(2), may_alias));
  return *reinterpret_cast<const LoosePairs*>(p);
}
RL_INLINE void add_lines(Sums& sums, Line left, Right right) { add_products(sums, left, right); }

#else

struct Right {
  Sums first, second;  // of each column's pair
};
struct Spread {
  int32_t first, second;
};

RL_INLINE Right load_right(const int8_t* p) {
  typedef int16_t LoosePairs __attribute__((vector_size(kLanes * 2), aligned(1), may_alias));
  const Sums pairs = __builtin_convertvector(*reinterpret_cast<const LoosePairs*>(p), Sums);
  return {pairs << 24 >> 24, pairs >> 8};
}
RL_INLINE Spread spread(const Left* p) { return {p[0], p[1]}; }
RL_INLINE void add_products(Sums& sums, Spread left, const Right& right) {
  sums += left.first * right.first;
  sums += left.second * right.second;
}

using Line = Right;
RL_INLINE Line load_line(const Left* p) {
  typedef int32_t LoosePairs __attribute__((vector_size(kLanes * 4), aligned(2), may_alias));
  const Sums pairs = *reinterpret_cast<const LoosePairs*>(p);
  return {pairs << 16 >> 16, pairs >> 16};
}
RL_INLINE void add_lines(Sums& sums, const Line& left, const Right& right) {
  sums += left.first * right.first;
  sums += left.second * right.second;
}

#endif

}  // namespace rushlight::tiles::RL_TILES_ISA
