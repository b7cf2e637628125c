#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"
#include "kernels/shared/loop_nest.h"

namespace rushlight {

// Checks `index` of gather and scatter: integers in [0, size of `axis`), sizes of other axes at most those of
// `indexed` and of `other` (scatter's source; may be `indexed` itself). Zero-dim tensors count as one element.
bool require_gather_index(KernelRuntimeContext& context, const Tensor& indexed, int64_t axis, const Tensor& index,
                          const Tensor& other);

// The loops over all elements of `index` with operands: 0 the index, 1 the tensor that runs along with it, 2 the tensor
// that is indexed at `axis`, whose offset along that axis is left out.
LoopNest gather_loops(const Tensor& index, const Tensor& along, const Tensor& indexed, int64_t axis);

// Calls body(offset in along, offset in indexed) for every element of the index from `begin` to `end`.
template <typename Body>
void for_each_gathered(const LoopNest& nest, const Tensor& index, int64_t axis_stride, int64_t begin, int64_t end,
                       const Body& body) {
  const IndexReader positions(index);
  const int64_t index_step = nest.inner_stride(0), along_step = nest.inner_stride(1), step = nest.inner_stride(2);
  for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      body(offsets[1] + i * along_step, offsets[2] + i * step + positions[offsets[0] + i * index_step] * axis_stride);
    }
  });
}

}  // namespace rushlight
