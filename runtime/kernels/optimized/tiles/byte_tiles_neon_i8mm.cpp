#define RL_TILES_ISA neon_i8mm_bytes
#define RL_TILES_SDOT

#include "kernels/optimized/tiles/byte_tiles.h"
#include "kernels/optimized/tiles/impl/byte_neon.h"

namespace rushlight::tiles::neon_i8mm_bytes {

inline constexpr int kLanes = 4, kGroup = 8, kTileRows = 10, kTileVectors = 2, kLeftOffset = 0;
using Left = int8_t;

// smmla: two rows times two columns, eight numbers each.
#define RL_TILES_OWN_TILE
template <int Rows, int Vectors>
static void byte_tile(const ByteTile& t) {
  constexpr int kPairs = (Rows + 1) / 2, kColumnPairs = 2 * Vectors;
  Sums acc[kPairs][kColumnPairs];
  RL_UNROLL for (int i = 0; i < kPairs; ++i) RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) acc[i][j] = Sums{};
  const Left* left = static_cast<const Left*>(t.left);
  const int8_t* right = t.right;
  const int64_t stride = t.left_stride;
  for (int64_t g = 0; g < t.groups; ++g) {
    int8x16_t columns[kColumnPairs];
    RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) columns[j] = vld1q_s8(right + 2 * j * kGroup);
    RL_UNROLL for (int i = 0; i < kPairs; ++i) {
      const int8x8_t first = vld1_s8(left + 2 * i * stride);
      const int8x8_t second = 2 * i + 1 < Rows ? vld1_s8(left + (2 * i + 1) * stride) : first;
      const int8x16_t rows = vcombine_s8(first, second);
      RL_UNROLL for (int j = 0; j < kColumnPairs; ++j) acc[i][j] = vmmlaq_s32(acc[i][j], rows, columns[j]);
    }
    left += kGroup;
    right += Vectors * kLanes * kGroup;
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

inline constexpr int kDotStep = 16;

}  // namespace rushlight::tiles::neon_i8mm_bytes

#include "kernels/optimized/tiles/impl/byte_gemm.h"

namespace rushlight::tiles::neon_i8mm_bytes {

extern const ByteTiles tiles = make_byte_tiles("neon_i8mm");

}  // namespace rushlight::tiles::neon_i8mm_bytes
