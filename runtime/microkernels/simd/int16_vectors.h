// Products of int16 in the compiler's vector types, with RL_LANES sums in a vector, in namespace
// rushlight::microkernels::RL_ISA. Tiles have RL_ROWS rows. It defines the names that winograd/impl/int8.h needs.
#pragma once

#include <cstdint>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kLanes = RL_LANES, kGroup = 2, kTileRows = RL_ROWS;
using Lhs = int16_t;
typedef uint32_t Sums __attribute__((vector_size(kLanes * 4), may_alias));
#if defined(__wasm_simd128__) && RL_LANES == 4

// i32x4.dot_i16x8_s
typedef int16_t Pairs __attribute__((vector_size(16)));
using Spread = Pairs;

RL_INLINE Pairs load_rhs(const int16_t* p) {
  typedef int16_t LoosePairs __attribute__((vector_size(16), aligned(2), may_alias));
  return *reinterpret_cast<const LoosePairs*>(p);
}
RL_INLINE Spread spread(const Lhs* p) {
  typedef uint32_t LoosePair __attribute__((aligned(2), may_alias));
  return reinterpret_cast<Spread>(*reinterpret_cast<const LoosePair*>(p) - Sums{});
}
RL_INLINE void add_products(Sums& sums, Spread lhs, Pairs rhs) {
  sums += reinterpret_cast<Sums>(__builtin_wasm_dot_s_i32x4_i16x8(lhs, rhs));
}

#else

struct Pairs {
  Sums first, second;  // of each column's pair
};
struct Spread {
  uint32_t first, second;
};

RL_INLINE Pairs load_rhs(const int16_t* p) {
  typedef int32_t Signed __attribute__((vector_size(kLanes * 4)));
  typedef int32_t LoosePairs __attribute__((vector_size(kLanes * 4), aligned(2), may_alias));
  const Signed pairs = *reinterpret_cast<const LoosePairs*>(p);
  return {Sums(pairs << 16 >> 16), Sums(pairs >> 16)};
}
RL_INLINE Spread spread(const Lhs* p) { return {static_cast<uint32_t>(p[0]), static_cast<uint32_t>(p[1])}; }
RL_INLINE void add_products(Sums& sums, Spread lhs, const Pairs& rhs) {
  sums += lhs.first * rhs.first;
  sums += lhs.second * rhs.second;
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
