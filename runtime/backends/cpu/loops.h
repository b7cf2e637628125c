#pragma once

#include <algorithm>

#include "backends/cpu/view.h"
#include "core/rounding.h"
#include "microkernels/workers.h"

namespace rushlight::cpu {

inline constexpr int kMaxViews = 12;

// Nested loops over several views with one shape, outermost first. Adjacent dimensions are merged if the strides of all
// views allow this. A stride of 0 repeats an element (broadcasting).
struct Loops {
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[kMaxViews][kMaxRank] = {};

  int64_t inner() const { return rank > 0 ? sizes[rank - 1] : 1; }
  int64_t outer() const {
    int64_t count = 1;
    for (int i = 0; i + 1 < rank; ++i) count *= sizes[i];
    return count;
  }
  int64_t inner_stride(int view) const { return rank > 0 ? strides[view][rank - 1] : 0; }
  // Returns the offset of row `index` in a view, in elements. `index` is less than outer().
  int64_t row(int view, int64_t index) const {
    int64_t offset = 0;
    for (int i = rank - 2; i >= 0; --i) {
      offset += index % sizes[i] * strides[view][i];
      index /= sizes[i];
    }
    return offset;
  }
};

// Returns loops over the shape of views[0]. The strides of views[0] determine the order of the loops. All views have
// the same sizes.
Loops make_loops(const View* const* views, int count);

// Divides the rows of the innermost loop into blocks of at most `block` elements, and calls body(worker, row, first, n)
// for each block: n elements of a row, from element `first` on. `first` is a multiple of `block`.
template <typename Body>
void for_blocks(KernelRuntimeContext& context, int64_t workers, const Loops& loops, int64_t block, const Body& body) {
  const int64_t inner = loops.inner(), blocks = divide_up(inner, block);
  microkernels::for_workers(context, workers, loops.outer() * blocks, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * block;
      body(worker, i / blocks, first, std::min(block, inner - first));
    }
  });
}

}  // namespace rushlight::cpu
