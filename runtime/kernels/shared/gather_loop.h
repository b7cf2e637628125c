#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/loop_nest.h"

namespace rushlight {

// Checks the shape of `index` of gather and scatter. Except along `axis`, its sizes must not exceed the sizes of
// `indexed`. Its sizes must not exceed the sizes of `other` (the source of scatter, or `indexed` itself). A zero-dim
// tensor is treated as a vector of one element.
bool require_gather_shapes(KernelRuntimeContext& context, const Tensor& indexed, int64_t axis, const Tensor& index,
                           const Tensor& other);
// Does the same, and checks that all elements of `index` are integers in [0, size of `axis`).
bool require_gather_index(KernelRuntimeContext& context, const Tensor& indexed, int64_t axis, const Tensor& index,
                          const Tensor& other);

// Returns the loops over all elements of `index`. Operand 0 is `index`. Operand 1 is `along`, whose elements have the
// same positions as those of `index`. Operand 2 is `indexed`, and its offsets do not include `axis`.
LoopNest gather_loops(const Tensor& index, const Tensor& along, const Tensor& indexed, int64_t axis);

// Calls body(offset in along, offset in indexed) for every element of the index from `begin` to `end`.
template <typename Body>
void for_each_gathered(const LoopNest& nest, const Tensor& index, int64_t axis_stride, int64_t begin, int64_t end,
                       const Body& body) {
  const int64_t index_step = nest.inner_stride(0), along_step = nest.inner_stride(1), step = nest.inner_stride(2);
  const auto run = [&](const auto* positions) {
    for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
      const auto* const position = positions + offsets[0];
      int64_t along = offsets[1], indexed = offsets[2];
      // Local copies show the compiler that stores to the tensors cannot change these objects.
      const auto visit = body;
      const int64_t position_step = index_step, next = along_step, next_indexed = step, stride = axis_stride;
      if (position_step == 1 && next == 1) {
        for (int64_t i = 0; i < n; ++i) {
          visit(along + i, indexed + i * next_indexed + static_cast<int64_t>(position[i]) * stride);
        }
        return;
      }
      for (int64_t i = 0; i < n; ++i, along += next, indexed += next_indexed) {
        visit(along, indexed + static_cast<int64_t>(position[i * position_step]) * stride);
      }
    });
  };
  if (index.scalar_type() == ScalarType::Long) return run(index.const_data_ptr<int64_t>());
  run(index.const_data_ptr<int32_t>());
}

}  // namespace rushlight
