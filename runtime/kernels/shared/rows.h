#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/shared/loop_nest.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight {

// The rows of tensors along an axis. The tensors have the same shape except for this axis. A zero-dim tensor is one row
// of one element.
class Rows {
 public:
  Rows(std::initializer_list<Tensor> tensors, int64_t axis);

  int64_t count() const { return count_; }
  // Return the length and the stride of the rows of tensor k; strides are in elements.
  int64_t length(int k) const { return length_[k]; }
  int64_t stride(int k) const { return stride_[k]; }

  // Calls body(offsets) for every row, on the context's threads. The row of tensor k begins at element offsets[k].
  template <typename Body>
  void for_each(KernelRuntimeContext& context, const Body& body) const {
    constexpr int64_t kElements = 16384;  // minimum number of elements per thread
    const int64_t grain = length_[0] > 0 && length_[0] < kElements ? kElements / length_[0] : 1;
    context.parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) { visit(begin, end, body); });
  }
  // Returns whether adjacent rows are adjacent elements in every tensor.
  bool adjacent() const;
  // Returns the distance in elements of adjacent rows of tensor k.
  int64_t step(int k) const { return nest_.inner_stride(k); }
  // Calls body(offsets, n) for groups of at most `max_rows` adjacent rows.
  template <typename Body>
  void for_each_run(KernelRuntimeContext& context, int64_t max_rows, const Body& body) const {
    constexpr int64_t kElements = 16384;
    const int64_t grain = length_[0] * max_rows < kElements ? kElements / (length_[0] + 1) + 1 : max_rows;
    context.parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) {
      for_each_row(nest_, begin, end, [&](const int64_t* first, int64_t n) {
        for (int64_t i = 0; i < n; i += max_rows) {
          int64_t offsets[kMaxOperands];
          for (int k = 0; k < nest_.operands; ++k) offsets[k] = first[k] + i * step(k);
          body(static_cast<const int64_t*>(offsets), n - i < max_rows ? n - i : max_rows);
        }
      });
    });
  }
  // Does the same as for_each() on this thread only, for bodies that share scratch memory.
  template <typename Body>
  void for_each_serially(const Body& body) const {
    visit(0, count_, body);
  }

 private:
  template <typename Body>
  void visit(int64_t begin, int64_t end, const Body& body) const {
    for_each_row(nest_, begin, end, [&](const int64_t* first, int64_t n) {
      int64_t offsets[kMaxOperands];
      for (int64_t i = 0; i < n; ++i) {
        for (int k = 0; k < nest_.operands; ++k) offsets[k] = first[k] + i * nest_.inner_stride(k);
        body(static_cast<const int64_t*>(offsets));
      }
    });
  }

  LoopNest nest_;
  int64_t count_ = 1;
  int64_t length_[kMaxOperands];
  int64_t stride_[kMaxOperands];
};

}  // namespace rushlight
