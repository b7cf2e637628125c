#include "kernels/optimized/tiles/packed_product.h"

#include <algorithm>
#include <cstring>

namespace rushlight::tiles {

namespace {

// Columns of b that stay in a second level cache while rows of a go by.
constexpr int64_t kBlockFloats = 48 * 1024;
// Deepest tile: its rows of a stay in the first level cache.
constexpr int64_t kMostDepth = 1024;
// A left operand of so many floats is not expected to be in the first levels of cache.
constexpr int64_t kColdFloats = 16 * 1024;

int64_t step_of(const Tiles& tiles) { return static_cast<int64_t>(tiles.gemm_vectors) * tiles.width; }

int64_t depth_of(int64_t k) {
  const int64_t parts = std::max<int64_t>(1, (k + kMostDepth - 1) / kMostDepth);
  return std::max<int64_t>(1, (k + parts - 1) / parts);
}

// Panel of columns [j, j + step) begins at j * k, with all of k.
int vectors_of(const Tiles& tiles, int64_t columns) {
  return static_cast<int>((columns + tiles.width - 1) / tiles.width);
}

}  // namespace

int64_t packed_bias_size(const Tiles& tiles, int64_t n) {
  const int64_t step = step_of(tiles);
  return (n + step - 1) / step * step;
}

int64_t packed_size(const Tiles& tiles, int64_t k, int64_t n) { return packed_bias_size(tiles, n) * k; }

void pack_right(const Tiles& tiles, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n, float* to) {
  const int64_t step = step_of(tiles);
  for (int64_t j = 0; j < n; j += step) {
    const int64_t columns = std::min(step, n - j);
    const int vectors = vectors_of(tiles, columns);
    if (is_transposed) {
      tiles.pack_transposed(vectors, b + j * ldb, ldb, k, columns, to + j * k);
    } else {
      tiles.pack_rows(vectors, b + j, ldb, k, columns, to + j * k);
    }
  }
}

void pack_bias(const Tiles& tiles, const float* bias, int64_t n, float* to) {
  std::fill(to, to + packed_bias_size(tiles, n), 0.0f);
  if (bias) std::copy(bias, bias + n, to);
}

int64_t packed_product_scratch(const Tiles& tiles) { return tiles.gemm_rows * step_of(tiles); }

void multiply_packed(const Tiles& tiles, const PackedProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                     float* scratch) {
  const int64_t rows = m1 - m0;
  if (rows <= 0) return;
  const int64_t step = step_of(tiles);
  const int64_t deepest = depth_of(p.k);
  const int64_t block = std::max<int64_t>(1, kBlockFloats / (deepest * step)) * step;
  const int64_t groups = (rows + tiles.gemm_rows - 1) / tiles.gemm_rows;
  const int64_t base = rows / groups, larger = rows % groups;  // so many tiles have base + 1 rows
  for (int64_t column = n0; column < n1; column += block) {
    const int64_t end = std::min(n1, column + block);
    for (int64_t k0 = 0; k0 < p.k; k0 += deepest) {
      const int64_t depth = std::min(deepest, p.k - k0);
      const bool is_last = k0 + depth == p.k;
      const bool fetch_ahead = rows * depth >= kColdFloats;
      for (int64_t group = 0, m = m0; group < groups; ++group) {
        const int count = static_cast<int>(base + (group < larger ? 1 : 0));
        for (int64_t j = column; j < end; j += step) {
          const int64_t columns = std::min(step, end - j);
          const int vectors = vectors_of(tiles, columns);
          const int64_t width = static_cast<int64_t>(vectors) * tiles.width;
          GemmTile tile{};
          tile.a = p.a + m * p.lda + k0;
          tile.lda = p.lda;
          tile.b = p.b + j * p.k + k0 * width;
          tile.k = depth;
          tile.init = k0 > 0 ? GemmInit::Accumulate : p.bias ? GemmInit::Column : GemmInit::Zero;
          tile.bias = p.bias ? p.bias + j : nullptr;
          tile.bounds = is_last ? p.bounds : nullptr;
          if (fetch_ahead && j == column && group + 1 < groups) tile.next_a = tile.a + count * p.lda;
          float* const to = p.c + m * p.ldc + j;
          if (columns == width) {
            tile.c = to;
            tile.ldc = p.ldc;
            tiles.gemm(count, vectors, tile);
            continue;
          }
          const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
          tile.c = scratch;
          tile.ldc = width;
          if (k0 > 0) {
            for (int i = 0; i < count; ++i) std::memcpy(scratch + i * width, to + i * p.ldc, bytes);
          }
          tiles.gemm(count, vectors, tile);
          for (int i = 0; i < count; ++i) std::memcpy(to + i * p.ldc, scratch + i * width, bytes);
        }
        m += count;
      }
    }
  }
}

}  // namespace rushlight::tiles
