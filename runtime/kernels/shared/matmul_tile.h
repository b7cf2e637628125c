#pragma once

#include <algorithm>
#include <cstdint>

namespace rushlight {

// A GEMM is computed in tiles: kTileRows rows of the LHS times kTileColumns columns of the RHS. kTileDepth products are
// added to each sum at a time.
inline constexpr int64_t kTileRows = 32;
inline constexpr int64_t kTileColumns = 32;
inline constexpr int64_t kTileDepth = 64;

// The sums of a tile, and the packed part of the RHS. Elements beyond the ends of the matrices are zero.
template <typename Accumulator>
struct MatmulTile {
  Accumulator sums[kTileRows][kTileColumns];
  Accumulator packed[kTileDepth][kTileColumns];

  void clear() { std::fill(&sums[0][0], &sums[0][0] + kTileRows * kTileColumns, Accumulator(0)); }

  // Adds lhs[k] * packed[k][c] to sums[r][c], where load(r, lhs) writes the `depth` numbers of row r of the LHS.
  template <typename Load>
  void multiply(int64_t rows, int64_t depth, const Load& load) {
    Accumulator lhs[kTileDepth];
    for (int64_t r = 0; r < rows; ++r) {
      load(r, lhs);
      Accumulator row[kTileColumns];
      std::copy(sums[r], sums[r] + kTileColumns, row);
      for (int64_t k = 0; k < depth; ++k) {
        const Accumulator factor = lhs[k];
        for (int64_t c = 0; c < kTileColumns; ++c) row[c] += factor * packed[k][c];
      }
      std::copy(row, row + kTileColumns, sums[r]);
    }
  }
};

}  // namespace rushlight
