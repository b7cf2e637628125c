#define RL_ISA neon_i8mm_int8
#define RL_SDOT

#include "microkernels/simd/int8_neon.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::neon_i8mm_int8 {

inline constexpr int kLanes = 4, kGroup = 8, kTileRows = 10, kTileVectors = 2, kLhsOffset = 0;
using Lhs = int8_t;

// The products use smmla, which multiplies two rows and two columns of eight numbers each.
#define RL_OWN_TILE
template <int Rows, int Vectors>
static void int8_tile(const Int8Tile& t) {
  constexpr int kPairs = (Rows + 1) / 2, kColumnPairs = 2 * Vectors;
  Sums acc[kPairs][kColumnPairs];
  RL_UNROLL for (int i = 0; i < kPairs; ++i) RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) acc[i][j] = Sums{};
  const Lhs* lhs = static_cast<const Lhs*>(t.lhs);
  const int8_t* rhs = t.rhs;
  const int64_t stride = t.lhs_stride;
  for (int64_t g = 0; g < t.groups; ++g) {
    int8x16_t columns[kColumnPairs];
    RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) columns[j] = vld1q_s8(rhs + 2 * j * kGroup);
    RL_UNROLL for (int i = 0; i < kPairs; ++i) {
      const int8x8_t first = vld1_s8(lhs + 2 * i * stride);
      const int8x8_t second = 2 * i + 1 < Rows ? vld1_s8(lhs + (2 * i + 1) * stride) : first;
      const int8x16_t rows = vcombine_s8(first, second);
      RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) acc[i][j] = vmmlaq_s32(acc[i][j], rows, columns[j]);
    }
    lhs += kGroup;
    rhs += Vectors * kLanes * kGroup;
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const Sums a = acc[i / 2][2 * j], b = acc[i / 2][2 * j + 1];
    Sums row =
        i % 2 == 0 ? vcombine_s32(vget_low_s32(a), vget_low_s32(b)) : vcombine_s32(vget_high_s32(a), vget_high_s32(b));
    int32_t* const to = t.sums + i * t.sums_stride + j * kLanes;
    if (t.accumulate) row = vaddq_s32(row, vld1q_s32(to));
    vst1q_s32(to, row);
  }
}

inline constexpr int kDotStep = 16, kUnit = 4;

}  // namespace rushlight::microkernels::neon_i8mm_int8

#include "microkernels/tables/impl/int8.h"

namespace rushlight::microkernels::neon_i8mm_int8 {

extern const Int8Microkernels table = make_int8_table("neon_i8mm");

}  // namespace rushlight::microkernels::neon_i8mm_int8
