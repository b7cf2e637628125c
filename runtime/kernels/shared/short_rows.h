#pragma once

#include <cstdint>

#include "kernels/shared/loop_nest.h"

namespace rushlight {

// Copies operands of a nest whose innermost loop is short, so that a loop can compute many rows of the result at once.
// A row consists of the elements of the innermost loop.
class ShortRows {
 public:
  static constexpr int64_t kSlackBytes = 64;  // read() may write this many bytes after the elements

  // Prepares for a nest after sort_by(out) and collapse(), and for parts of at most `limit` elements. Returns false if
  // the rows are long, or if the elements of operand `out` are not consecutive in the order of the nest.
  bool prepare(const LoopNest& nest, int out, int64_t limit);

  int64_t rows() const { return rows_; }
  int64_t row_size() const { return n_; }
  // Returns the number of rows that are read at a time.
  int64_t rows_at_once() const { return limit_ / n_; }
  // Whether the operand has a single element.
  bool is_number(int operand) const { return outer_[operand].dim == 0 && stride_[operand] == 0; }
  // Returns the address of the elements of `count` rows from row `first` on, in the order of the nest: in the operand
  // itself if its elements are consecutive, else in `buffer`. `data` is the address of the operand, `size` the size of
  // an element in bytes: 1, 2, 4, 8 or 16.
  const uint8_t* read(int operand, const uint8_t* data, int64_t size, int64_t first, int64_t count,
                      uint8_t* buffer) const;

 private:
  LoopNest outer_[kMaxOperands];  // the other loops of each operand
  int64_t stride_[kMaxOperands];  // in a row
  int64_t n_ = 0;
  int64_t rows_ = 0;
  int64_t limit_ = 0;
};

}  // namespace rushlight
