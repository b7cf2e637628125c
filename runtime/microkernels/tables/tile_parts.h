// Tiles with many rows are long functions. To save code, some tables of tiles contain only some row counts. The other
// row counts are computed as two tiles: one of kPartRows rows, and one of the remaining rows.
#pragma once

#include <cstdint>

namespace rushlight::microkernels {

inline constexpr int kPartRows = 7;

// Whether there is a tile of this many rows, in a table for at most `Most` rows. Both parts of the other row counts are
// large enough that they hide the latency of multiply-adds.
template <int Most>
constexpr bool has_tile(int rows) {
  return Most < 10 || rows <= kPartRows || rows % 2 == 0;
}

// Returns the row count of the tile at `rows` in a table. The entries of missing tiles are not used.
template <int Most>
constexpr int rows_in_table(int rows) {
  return has_tile<Most>(rows) ? rows : kPartRows;
}

// Rounds the row count of a tile up to one that has a tile of its own.
template <int Most>
constexpr int64_t rounded_rows(int64_t rows) {
  return has_tile<Most>(static_cast<int>(rows)) ? rows : rows + 1;
}

}  // namespace rushlight::microkernels
