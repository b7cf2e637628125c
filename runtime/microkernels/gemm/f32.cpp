#include "microkernels/gemm/f32.h"

#include <algorithm>
#include <cstring>

#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels {

namespace {

// The number of floats of a block of the packed RHS. It fits into the L2 cache and leaves room for other data.
constexpr int64_t kBlockFloats = 32 * 1024;
// With at most this depth, the rows of a tile of the LHS fit into the L1 cache.
constexpr int64_t kMaxDepth = 1152;
// An LHS with at least this many floats is probably not in the L1 and L2 caches.
constexpr int64_t kColdFloats = 16 * 1024;
constexpr int64_t kMaxColumns = 64;                   // columns of the widest panel
constexpr int64_t kMaxTileFloats = 14 * kMaxColumns;  // results of the largest tile

// The sizes of the blocks into which the RHS is divided. A block is packed, and then all rows are multiplied by it.
struct BlockSize {
  int64_t depth;    // terms of the sums
  int64_t columns;  // a multiple of the columns of a panel
};

BlockSize block_size(const F32Microkernels& kernels, int64_t k, int64_t n) {
  const int64_t step = column_step(kernels);
  const int64_t parts = std::max<int64_t>(1, (k + kMaxDepth - 1) / kMaxDepth);
  const int64_t depth = std::max<int64_t>(1, (k + parts - 1) / parts);
  int64_t columns = std::max<int64_t>(1, kBlockFloats / (depth * step)) * step;
  columns = std::min(columns, (n + step - 1) / step * step);
  return {depth, std::max(columns, step)};
}

// Columns of a panel that are stored contiguously in a row of c.
struct Segment {
  int64_t from;  // first column in the panel
  int64_t to;    // first column in c
  int64_t length;
};

// Writes the segments of columns [begin, begin + columns) of the product, and returns their number. Columns that are
// not stored are in no segment; see F32Gemm::kept.
int segments_of(const F32Gemm& p, int64_t begin, int64_t columns, Segment (&segments)[kMaxColumns]) {
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

// A block of the RHS: terms [first, first + depth) of columns [column, end).
struct Block {
  int64_t first, depth;
  int64_t column, end;
  float* packed;  // the panels of the block, one after the other: [depth, columns rounded up to vectors]

  const float* panel(int64_t j) const { return packed + (j - column) * depth; }
};

int vectors_of(const F32Microkernels& kernels, int64_t columns) {
  return static_cast<int>((columns + kernels.width - 1) / kernels.width);
}

void pack_panel(const F32Microkernels& kernels, const F32Gemm& p, const Block& block, int64_t j, int64_t columns) {
  const int vectors = vectors_of(kernels, columns);
  float* const to = block.packed + (j - block.column) * block.depth;
  switch (p.rhs) {
    case F32Gemm::Rhs::Rows:
      return kernels.pack_rows(vectors, p.b + block.first * p.ldb + j, p.ldb, block.depth, columns, to);
    case F32Gemm::Rhs::Transposed:
      return kernels.pack_transposed(vectors, p.b + j * p.ldb + block.first, p.ldb, block.depth, columns, to);
    case F32Gemm::Rhs::Gathered:
      return kernels.pack_gathered(vectors, p.b + j, p.offsets + block.first, block.depth, to);
  }
}

// The place of a tile in the product: rows [row, row + rows) and columns [column, column + columns), at most a panel.
struct Place {
  int64_t row;
  int rows;
  int64_t column, columns;
};

// The parts of a tile's columns that are stored.
struct Segments {
  Segment items[kMaxColumns];
  int count;
};

// Scratch memory for a tile that cannot be computed in c.
struct LocalTile {
  float* results;  // [rows, columns rounded up to vectors]
  float* bias;     // [columns rounded up to vectors]
};

// Computes a tile that is not stored as whole vectors in c: in local memory, and then copies its columns to c.
// tile.c is not set.
void multiply_copied(const F32Microkernels& kernels, const F32Gemm& p, const Place& place, const Segments& segments,
                     const LocalTile& local, GemmTile tile) {
  const int vectors = vectors_of(kernels, place.columns);
  tile.c = local.results;
  tile.ldc = vectors * kernels.width;
  // Calls copy(numbers of the tile, numbers of c, bytes) for each segment of each row.
  const auto for_each_segment = [&](auto copy) {
    for (int i = 0; i < place.rows; ++i) {
      for (int s = 0; s < segments.count; ++s) {
        const Segment& segment = segments.items[s];
        copy(local.results + i * tile.ldc + segment.from, p.c + (place.row + i) * p.ldc + segment.to,
             static_cast<size_t>(segment.length) * sizeof(float));
      }
    }
  };
  if (tile.accumulates) {
    for_each_segment([](float* own, const float* c, size_t bytes) { std::memcpy(own, c, bytes); });
  }
  if (tile.bias_of == BiasOf::Columns && place.columns < tile.ldc) {
    std::memcpy(local.bias, tile.bias, static_cast<size_t>(place.columns) * sizeof(float));
    tile.bias = local.bias;
  }
  multiply_tile(kernels, place.rows, vectors, tile);
  for_each_segment([](const float* own, float* c, size_t bytes) { std::memcpy(c, own, bytes); });
}

// Adds the products of the terms of a block to one tile. next_a is the LHS of the next tile, which is prefetched, or
// null.
void multiply_panel(const F32Microkernels& kernels, const F32Gemm& p, const Block& block, const Place& place,
                    const float* next_a, const LocalTile& local) {
  Segments segments;
  segments.count = segments_of(p, place.column, place.columns, segments.items);
  if (segments.count == 0) return;
  GemmTile tile{};
  tile.a = p.a + place.row * p.lda + block.first, tile.lda = p.lda;
  tile.b = block.panel(place.column);
  tile.k = block.depth;
  tile.bias = p.bias;
  tile.next_a = next_a;
  tile.accumulates = block.first > 0 || p.accumulates;
  const bool has_last_terms = block.first + block.depth >= p.k;
  tile.bias_of = has_last_terms ? p.bias_of : BiasOf::None;
  if (tile.bias_of == BiasOf::Rows) tile.bias = p.bias + place.row;
  if (tile.bias_of == BiasOf::Columns) tile.bias = p.bias + place.column;
  const int vectors = vectors_of(kernels, place.columns);
  if (segments.count > 1 || segments.items[0].length != vectors * kernels.width) {
    return multiply_copied(kernels, p, place, segments, local, tile);
  }
  tile.c = p.c + place.row * p.ldc + segments.items[0].to;
  tile.ldc = p.ldc;
  multiply_tile(kernels, place.rows, vectors, tile);
}

}  // namespace

// The scratch memory consists of a LocalTile and a packed block.
int64_t gemm_scratch(const F32Microkernels& kernels, int64_t k, int64_t n) {
  const BlockSize size = block_size(kernels, k, n);
  return size.depth * size.columns + kMaxTileFloats + column_step(kernels);
}

void multiply(const F32Microkernels& kernels, const F32Gemm& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              float* scratch) {
  const int64_t rows = m1 - m0;
  if (rows <= 0) return;
  const int64_t step = column_step(kernels);
  const BlockSize size = block_size(kernels, p.k, p.n);
  const LocalTile local{scratch, scratch + kMaxTileFloats};
  // The rows are divided into tiles of nearly equal size: `larger` tiles with base + 1 rows, then tiles with `base`.
  const int64_t most = tile_rows(kernels.gemm_rows, p.lda), tiles = (rows + most - 1) / most;
  const int64_t base = rows / tiles, larger = rows % tiles;
  for (int64_t column = n0; column < n1; column += size.columns) {
    Block block{0, 0, column, std::min(n1, column + size.columns), local.bias + step};
    do {
      block.depth = std::min(size.depth, p.k - block.first);
      for (int64_t j = column; j < block.end; j += step) {
        pack_panel(kernels, p, block, j, std::min(step, block.end - j));
      }
      const bool prefetches = rows * block.depth >= kColdFloats;
      for (int64_t t = 0, m = m0; t < tiles; ++t) {
        const int count = static_cast<int>(base + (t < larger ? 1 : 0));
        for (int64_t j = column; j < block.end; j += step) {
          const bool fetches = prefetches && j == column;
          multiply_panel(kernels, p, block, {m, count, j, std::min(step, block.end - j)},
                         fetches ? p.a + (m + count) * p.lda + block.first : nullptr, local);
        }
        m += count;
      }
      block.first += block.depth;
    } while (block.first < p.k);
  }
}

bool has_few_rows(const F32Gemm& gemm) {
  constexpr int64_t kDotRows = 8;  // the maximum number of rows with a transposed RHS
  if (gemm.row != 0) return false;
  if (gemm.rhs == F32Gemm::Rhs::Transposed) return gemm.m <= kDotRows;
  return gemm.rhs == F32Gemm::Rhs::Rows && gemm.m == 1;
}

void multiply_few_rows(const F32Microkernels& kernels, const F32Gemm& gemm, int64_t n0, int64_t n1) {
  for (int64_t row = 0; row < gemm.m && !gemm.accumulates; ++row) {
    std::fill(gemm.c + row * gemm.ldc + n0, gemm.c + row * gemm.ldc + n1, 0.0f);
  }
  const float* const b = gemm.b;
  float* const c = gemm.c + n0;
  if (gemm.rhs == F32Gemm::Rhs::Transposed) {
    kernels.add_dots(gemm.m, n1 - n0, gemm.k, gemm.a, gemm.lda, b + n0 * gemm.ldb, gemm.ldb, c, gemm.ldc);
  } else {
    for (int64_t row = 0; row < gemm.m; ++row) {
      kernels.add_scaled_rows(gemm.k, gemm.a + row * gemm.lda, b + n0, gemm.ldb, n1 - n0, c + row * gemm.ldc);
    }
  }
  if (gemm.bias_of == BiasOf::None) return;
  const bool is_of_rows = gemm.bias_of == BiasOf::Rows;
  for (int64_t row = 0; row < gemm.m; ++row) {
    for (int64_t j = n0; j < n1; ++j) gemm.c[row * gemm.ldc + j] += gemm.bias[is_of_rows ? row : j];
  }
}

}  // namespace rushlight::microkernels
