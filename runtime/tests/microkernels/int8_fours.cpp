// Sums of unsigned by signed products in groups of four, as in VNNI, in plain C++.
#include <cstdint>

#include "microkernels/simd/inline.h"

#define RL_ISA fours_int8

namespace rushlight::microkernels::fours_int8 {

inline constexpr int kLanes = 4, kGroup = 4, kTileRows = 14, kTileVectors = 2, kLhsOffset = 128;
using Lhs = uint8_t;
typedef int32_t Sums __attribute__((vector_size(16)));
using Rhs = const int8_t*;
using Spread = const uint8_t*;

RL_INLINE Rhs load_rhs(const int8_t* p) { return p; }
RL_INLINE Spread spread(const Lhs* p) { return p; }
RL_INLINE void add_products(Sums& sums, Spread lhs, Rhs rhs) {
  for (int j = 0; j < kLanes; ++j) {
    for (int l = 0; l < kGroup; ++l) sums[j] += lhs[l] * rhs[j * kGroup + l];
  }
}

inline constexpr int kDotRows = 2;
using Line = const uint8_t*;
RL_INLINE Line load_line(const Lhs* p) { return p; }
RL_INLINE void add_lines(Sums& sums, Line lhs, Rhs rhs) {
  for (int j = 0; j < kLanes; ++j) {
    for (int l = 0; l < kGroup; ++l) sums[j] += lhs[j * kGroup + l] * rhs[j * kGroup + l];
  }
}

}  // namespace rushlight::microkernels::fours_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::fours_int8 {

extern const Int8Microkernels table = make_int8_table("fours");

}  // namespace rushlight::microkernels::fours_int8
