#pragma once

#include <algorithm>
#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Sets index[axis] to the index of the element at `offset` of a dense tensor.
void index_at(const Tensor& tensor, int64_t offset, int64_t* index);

// Calls body(index, offset) for every element of a dense tensor in memory order, on several threads. index[axis] is the
// index of the element, `offset` its distance from the first element, in elements. `work` is an estimate of the
// operations per element.
template <typename Body>
void for_each_index(KernelRuntimeContext& context, const Tensor& out, int64_t work, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work));
  context.parallel_for(0, out.numel(), grain, [&](int64_t begin, int64_t end) {
    const int rank = static_cast<int>(out.dim());
    const Span<const DimOrderType> order = out.dim_order();
    int64_t index[kMaxDim] = {};
    index_at(out, begin, index);
    for (int64_t offset = begin; offset < end; ++offset) {
      body(static_cast<const int64_t*>(index), offset);
      for (int i = rank - 1; i >= 0; --i) {
        const int axis = order[static_cast<size_t>(i)];
        if (++index[axis] < out.size(axis)) break;
        index[axis] = 0;
      }
    }
  });
}

// Calls body(index, axis, offset, count) for lines of a dense tensor in memory order, on several threads. A line
// consists of `count` consecutive elements along the innermost `axis`; `index` and `offset` are those of its first
// element. `work` is an estimate of the operations per element. The tensor has at least one dim.
template <typename Body>
void for_each_line(KernelRuntimeContext& context, const Tensor& out, int64_t work, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work));
  context.parallel_for(0, out.numel(), grain, [&](int64_t begin, int64_t end) {
    const int rank = static_cast<int>(out.dim());
    const Span<const DimOrderType> order = out.dim_order();
    const int axis = order[static_cast<size_t>(rank - 1)];
    int64_t index[kMaxDim] = {};
    index_at(out, begin, index);
    for (int64_t offset = begin, count; offset < end; offset += count) {
      count = std::min(out.size(axis) - index[axis], end - offset);
      body(static_cast<const int64_t*>(index), axis, offset, count);
      index[axis] += count;
      for (int i = rank - 1; i > 0 && index[order[static_cast<size_t>(i)]] == out.size(order[static_cast<size_t>(i)]);
           --i) {
        index[order[static_cast<size_t>(i)]] = 0;
        ++index[order[static_cast<size_t>(i - 1)]];
      }
    }
  });
}

}  // namespace rushlight
