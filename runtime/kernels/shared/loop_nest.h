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

// Calls row(offsets, n) for the elements [begin, end) of the nest. The row of operand k begins at offsets[k] and has n
// elements, nest.inner_stride(k) elements apart.
template <typename Row>
void for_each_row(const LoopNest& nest, int64_t begin, int64_t end, const Row& row) {
  if (begin >= end) return;
  int64_t index[kMaxDim];
  int64_t offsets[kMaxOperands] = {};
  int64_t rest = begin;
  for (int d = nest.dim; d-- > 0;) {
    index[d] = rest % nest.size[d];
    rest /= nest.size[d];
    for (int k = 0; k < nest.operands; ++k) offsets[k] += index[d] * nest.stride[k][d];
  }
  const int inner = nest.dim - 1;
  while (begin < end) {
    int64_t n = inner >= 0 ? nest.size[inner] - index[inner] : 1;
    if (n > end - begin) n = end - begin;
    row(static_cast<const int64_t*>(offsets), n);
    begin += n;
    if (inner < 0) return;
    for (int k = 0; k < nest.operands; ++k) offsets[k] -= index[inner] * nest.stride[k][inner];
    index[inner] = 0;
    for (int d = inner; d-- > 0;) {
      for (int k = 0; k < nest.operands; ++k) offsets[k] += nest.stride[k][d];
      if (++index[d] < nest.size[d]) break;
      for (int k = 0; k < nest.operands; ++k) offsets[k] -= nest.size[d] * nest.stride[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace rushlight
