#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "rushlight/core/tensor.h"

namespace rushlight {

inline constexpr int kMaxOperands = 6;

// Nested loops over operands with strides. Sizes and strides begin with the outermost loop. Strides are in elements; a
// broadcast operand has stride 0. A nest without loops visits one element.
struct LoopNest {
  int dim = 0;
  int operands = 0;
  int64_t size[kMaxDim];
  int64_t stride[kMaxOperands][kMaxDim];

  int64_t numel() const;
  int64_t inner_size() const { return dim > 0 ? size[dim - 1] : 1; }
  int64_t inner_stride(int operand) const { return dim > 0 ? stride[operand][dim - 1] : 1; }

  // Makes the loops over `shape` without operands.
  static LoopNest over(Span<const SizesType> shape);
  // Adds a tensor that broadcasts to the nest's shape.
  void add(const Tensor& tensor);
  // Adds a loop as the innermost one, with a stride for each operand.
  void push(int64_t size, std::initializer_list<int64_t> strides);
  // Sorts the loops by decreasing stride of an operand.
  void sort_by(int operand);
  // Merges adjacent loops if the strides of all operands allow it, and removes loops of size 1.
  void collapse();
};

// The position of a row in a nest: the index of its first element in each loop, and the offset of each operand.
struct RowPosition {
  int64_t index[kMaxDim];
  int64_t offsets[kMaxOperands];

  // Begins at element `first` of the nest, which may be within a row.
  RowPosition(const LoopNest& nest, int64_t first);
  // Moves to the beginning of the next row.
  void step(const LoopNest& nest);
};

// Calls row(offsets, n) for the elements [begin, end) of the nest. The row of operand k begins at offsets[k] and has n
// elements, nest.inner_stride(k) elements apart.
template <typename Row>
void for_each_row(const LoopNest& nest, int64_t begin, int64_t end, const Row& row) {
  if (begin >= end) return;
  RowPosition at(nest, begin);
  while (true) {
    int64_t n = nest.dim > 0 ? nest.size[nest.dim - 1] - at.index[nest.dim - 1] : 1;
    if (n > end - begin) n = end - begin;
    row(static_cast<const int64_t*>(at.offsets), n);
    begin += n;
    if (begin >= end || nest.dim == 0) return;
    at.step(nest);
  }
}

}  // namespace rushlight
