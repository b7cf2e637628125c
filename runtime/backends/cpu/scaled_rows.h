// Products of few rows of floats with int8 or int4 weights, which are dequantized in registers.
#pragma once

#include <algorithm>

#include "backends/cpu/step.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/gemm/int8.h"

namespace rushlight::cpu {

// A matrix [columns, depth] of numbers of 8 or 4 bits, with a scale for each `group` numbers of a column.
struct GroupedShape {
  int64_t bits, depth, columns, group;
};

// Sets `matrix` to constant operands. Returns InvalidProgram if they do not have the shape, or if the shape is not
// supported.
Error bind_grouped(Binder& binder, Operand numbers, Operand scales, const GroupedShape& shape,
                   microkernels::GroupedMatrix& matrix);

// Returns the matrix as floats that are packed as the RHS of a GEMM, in memory of the binder; null if there is none.
const float* packed_floats(Binder& binder, const microkernels::GroupedMatrix& matrix, int64_t columns);

class ScaledRows {
 public:
  // `rows` is the number of rows of the LHS.
  ScaledRows(const microkernels::GroupedMatrix& matrix, int64_t rows) : matrix_(matrix), rows_(rows) {}

  // The rows of the packed LHS and of the sums: `rows` rounded up to tiles.
  int64_t padded_rows() const {
    int64_t row = 0;
    while (row < rows_) row += tile_rows(row);
    return row;
  }

  // Packs the LHS, whose rows have the distance `stride`, to [padded_rows(), depth].
  void pack(const float* from, int64_t stride, float* to) const {
    for (int64_t row = 0, tile; row < rows_; row += tile) {
      tile = tile_rows(row);
      pack_scaled_rows(from + row * stride, stride, rows_ - row, tile, matrix_.part(0, 1, 0, matrix_.depth),
                       to + row * matrix_.depth);
    }
  }

  // Adds the product of the packed LHS and of `count` columns from `column` on to sums [padded_rows(), count], whose
  // rows have the distance `sums_stride`.
  void add_products(const float* packed, int64_t column, int64_t count, float* sums, int64_t sums_stride) const {
    for (int64_t row = 0, tile; row < rows_; row += tile) {
      tile = tile_rows(row);
      const int64_t part = kTileFloats / tile;
      for (int64_t first = 0; first < matrix_.depth; first += part) {
        const int64_t last = std::min(first + part, matrix_.depth);
        microkernels::int8_microkernels().add_scaled_dots(
            static_cast<int>(tile), {packed + row * matrix_.depth + first * tile,
                                     matrix_.part(column, count, first, last), sums + row * sums_stride, sums_stride});
      }
    }
  }

 private:
  // Floats of a tile of rows that are multiplied by all columns before the next terms, so that they stay in the
  // first-level cache.
  static constexpr int64_t kTileFloats = 4096;

  // Returns the rows of the tile that begins at `row`.
  int64_t tile_rows(int64_t row) const {
    const int64_t most = microkernels::int8_microkernels().scaled_rows;
    return most == 1 || rows_ - row == 1 ? 1 : rows_ - row <= 4 ? 4 : most;
  }

  const microkernels::GroupedMatrix& matrix_;
  const int64_t rows_;
};

}  // namespace rushlight::cpu
