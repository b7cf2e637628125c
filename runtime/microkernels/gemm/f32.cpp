#include "microkernels/gemm/f32.h"

#include <algorithm>
#include <cstring>

#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

namespace {

// The number of floats of a block of packed columns. It fits into the L2 cache and leaves room for other data.
constexpr int64_t kBlockFloats = 32 * 1024;
// With at most this depth, the rows of a tile of A fit into the L1 cache.
constexpr int64_t kMaxDepth = 1152;
// An LHS with at least this many floats is probably not in the L1 and L2 caches.
constexpr int64_t kColdFloats = 16 * 1024;
constexpr int64_t kMaxTile = 14 * 64;

struct Blocks {
  int64_t depth;    // k in a block
  int64_t columns;  // n in a block
};

Blocks blocks_of(const F32Microkernels& kernels, int64_t k, int64_t n) {
  const int64_t step = column_step(kernels);
  const int64_t parts = std::max<int64_t>(1, (k + kMaxDepth - 1) / kMaxDepth);
  const int64_t depth = std::max<int64_t>(1, (k + parts - 1) / parts);
  int64_t columns = std::max<int64_t>(1, kBlockFloats / (depth * step)) * step;
  columns = std::min(columns, (n + step - 1) / step * step);
  return {depth, std::max(columns, step)};
}

// A range of columns that are stored contiguously.
struct Segment {
  int64_t from;  // first column in the panel
  int64_t to;    // first column in c
  int64_t length;
};

int segments_of(const F32Gemm& p, int64_t begin, int64_t columns, Segment* segments) {
  if (p.row == 0) {
    segments[0] = {0, begin, columns};
    return 1;
  }
  int count = 0;
  for (int64_t j = 0; j < columns;) {
    const int64_t line = (begin + j) / p.row;
    const int64_t x = (begin + j) % p.row;
    const int64_t length = std::min(p.row - x, columns - j);
    if (x < p.kept) segments[count++] = {j, line * p.kept + x, std::min(length, p.kept - x)};
    j += length;
  }
  return count;
}

// Computes a tile in partial sums of kTermsOfSum terms.
void multiply_tile(const F32Microkernels& kernels, int rows, int vectors, const GemmTile& whole) {
  GemmTile part = whole;
  for (int64_t l = 0; l == 0 || l < whole.k; l += kTermsOfSum) {
    part.k = std::min(kTermsOfSum, whole.k - l);
    part.bias_of = l + part.k < whole.k ? BiasOf::None : whole.bias_of;
    kernels.gemm(rows, vectors, part);
    part.accumulates = true;
    part.a += part.k, part.b += part.k * vectors * kernels.width;
    if (part.next_a) part.next_a += part.k;
  }
}

void pack(const F32Microkernels& kernels, const F32Gemm& p, int vectors, int64_t k0, int64_t depth, int64_t column,
          int64_t columns, float* to) {
  switch (p.rhs) {
    case F32Gemm::Rhs::Rows:
      return kernels.pack_rows(vectors, p.b + k0 * p.ldb + column, p.ldb, depth, columns, to);
    case F32Gemm::Rhs::Transposed:
      return kernels.pack_transposed(vectors, p.b + column * p.ldb + k0, p.ldb, depth, columns, to);
    case F32Gemm::Rhs::Gathered:
      return kernels.pack_gathered(vectors, p.b + column, p.offsets + k0, depth, to);
  }
}

}  // namespace

int64_t gemm_scratch(const F32Microkernels& kernels, int64_t k, int64_t n) {
  const Blocks blocks = blocks_of(kernels, k, n);
  return blocks.depth * blocks.columns + kMaxTile + column_step(kernels);
}

void multiply(const F32Microkernels& kernels, const F32Gemm& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              float* scratch) {
  const int64_t width = kernels.width;
  const int64_t step = column_step(kernels);
  const Blocks blocks = blocks_of(kernels, p.k, p.n);
  float* const local = scratch;
  float* const local_bias = local + kMaxTile;
  float* const packed = local_bias + step;
  const int64_t rows = m1 - m0;
  if (rows <= 0) return;
  const int64_t most = tile_rows(kernels.gemm_rows, p.lda), groups = (rows + most - 1) / most;
  const int64_t base = rows / groups;
  const int64_t larger = rows % groups;  // number of tiles with base + 1 rows

  for (int64_t column = n0; column < n1; column += blocks.columns) {
    const int64_t end = std::min(n1, column + blocks.columns);
    int64_t k0 = 0;
    do {
      const int64_t depth = std::min(blocks.depth, p.k - k0);
      const bool fetch_ahead = rows * depth >= kColdFloats;
      for (int64_t j = column; j < end; j += step) {
        const int64_t columns = std::min(step, end - j);
        const int vectors = static_cast<int>((columns + width - 1) / width);
        pack(kernels, p, vectors, k0, depth, j, columns, packed + (j - column) * depth);
      }
      for (int64_t group = 0, m = m0; group < groups; ++group) {
        const int count = static_cast<int>(base + (group < larger ? 1 : 0));
        for (int64_t j = column; j < end; j += step) {
          const int64_t columns = std::min(step, end - j);
          const int vectors = static_cast<int>((columns + width - 1) / width);
          GemmTile tile{
              p.a + m * p.lda + k0, p.lda, packed + (j - column) * depth, depth, BiasOf::None, p.bias, nullptr, 0};
          if (fetch_ahead && j == column) tile.next_a = tile.a + count * p.lda;
          tile.accumulates = k0 > 0 || p.accumulates;
          if (k0 + depth >= p.k) tile.bias_of = p.bias_of;
          if (tile.bias_of == BiasOf::Rows) tile.bias = p.bias + m;
          if (tile.bias_of == BiasOf::Columns) tile.bias = p.bias + j;
          Segment segments[66];
          const int segment_count = segments_of(p, j, columns, segments);
          if (segment_count == 1 && segments[0].length == vectors * width) {
            tile.c = p.c + m * p.ldc + segments[0].to;
            tile.ldc = p.ldc;
            multiply_tile(kernels, count, vectors, tile);
            continue;
          }
          if (segment_count == 0) continue;
          tile.c = local;
          tile.ldc = vectors * width;
          if (tile.accumulates) {
            for (int i = 0; i < count; ++i) {
              for (int s = 0; s < segment_count; ++s) {
                std::memcpy(local + i * tile.ldc + segments[s].from, p.c + (m + i) * p.ldc + segments[s].to,
                            static_cast<size_t>(segments[s].length) * sizeof(float));
              }
            }
          }
          if (tile.bias_of == BiasOf::Columns && columns < vectors * width) {
            std::memcpy(local_bias, tile.bias, static_cast<size_t>(columns) * sizeof(float));
            tile.bias = local_bias;
          }
          multiply_tile(kernels, count, vectors, tile);
          for (int i = 0; i < count; ++i) {
            for (int s = 0; s < segment_count; ++s) {
              std::memcpy(p.c + (m + i) * p.ldc + segments[s].to, local + i * tile.ldc + segments[s].from,
                          static_cast<size_t>(segments[s].length) * sizeof(float));
            }
          }
        }
        m += count;
      }
      k0 += depth;
    } while (k0 < p.k);
  }
}

}  // namespace rushlight::microkernels
