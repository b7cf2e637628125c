// Products of int8 in the compiler's vector types, with RL_LANES sums in a vector, in namespace
// rushlight::microkernels::RL_ISA. Tiles have RL_ROWS rows. It defines the names that tables/impl/int8.h needs.
#pragma once

#include <cstdint>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kLanes = RL_LANES, kGroup = 2, kTileRows = RL_ROWS, kTileVectors = 2, kLhsOffset = 0;
inline constexpr int kDotRows = 2;
using Lhs = int16_t;
typedef int32_t Sums __attribute__((vector_size(kLanes * 4)));
#if defined(__wasm_simd128__) && RL_LANES == 4

// i32x4.dot_i16x8_s
typedef int16_t Pairs __attribute__((vector_size(16)));
using Rhs = Pairs;
using Spread = Pairs;
using Line = Pairs;

RL_INLINE Rhs load_rhs(const int8_t* p) {
  typedef int8_t LooseBytes __attribute__((vector_size(8), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const LooseBytes*>(p), Pairs);
}
RL_INLINE Spread spread(const Lhs* p) {
  typedef int32_t LoosePair __attribute__((aligned(2), may_alias));
  return reinterpret_cast<Spread>(*reinterpret_cast<const LoosePair*>(p) - Sums{});
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) { sums += __builtin_wasm_dot_s_i32x4_i16x8(lhs, rhs); }
RL_INLINE Line load_line(const Lhs* p) {
  typedef int16_t LoosePairs __attribute__((vector_size(16), aligned(2), may_alias));
  return *reinterpret_cast<const LoosePairs*>(p);
}
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) { add_products(sums, lhs, rhs); }

#else

struct Rhs {
  Sums first, second;  // of each column's pair
};
struct Spread {
  int32_t first, second;
};

RL_INLINE Rhs load_rhs(const int8_t* p) {
  typedef int16_t LoosePairs __attribute__((vector_size(kLanes * 2), aligned(1), may_alias));
  const Sums pairs = __builtin_convertvector(*reinterpret_cast<const LoosePairs*>(p), Sums);
  return {pairs << 24 >> 24, pairs >> 8};
}
RL_INLINE Spread spread(const Lhs* p) { return {p[0], p[1]}; }
RL_INLINE void add_products(Sums& sums, Spread lhs, const Rhs& rhs) {
  sums += lhs.first * rhs.first;
  sums += lhs.second * rhs.second;
}

using Line = Rhs;
RL_INLINE Line load_line(const Lhs* p) {
  typedef int32_t LoosePairs __attribute__((vector_size(kLanes * 4), aligned(2), may_alias));
  const Sums pairs = *reinterpret_cast<const LoosePairs*>(p);
  return {pairs << 16 >> 16, pairs >> 16};
}
RL_INLINE void add_lines(Sums& sums, const Line& lhs, const Rhs& rhs) {
  sums += lhs.first * rhs.first;
  sums += lhs.second * rhs.second;
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
