#pragma once

#include <algorithm>
#include <cstdint>

#include "core/transpose.h"
#include "kernels/shared/reduce.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// The shape of a row-major tensor as [outer, reduced, inner].
struct ReductionShape {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// Sets `result`. Returns false if the dims in `mask` are not adjacent (dims of size 1 are ignored), or if the tensor
// is not row-major float32 or has no elements.
bool float_reduction_shape(const Tensor& tensor, DimMask mask, ReductionShape* result);
// Does the same for elements of any dtype.
bool reduction_shape(const Tensor& tensor, DimMask mask, ReductionShape* result);

enum class Reduction : uint8_t { Sum, Mean, Largest, Smallest };

// Reduces the dims in `mask`, which are the first ones and the last ones of a row-major float32 tensor. Returns false
// for other tensors.
bool reduce_outer_and_inner_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask,
                                 bool keepdim, const Tensor& out);

// Sets out's shape and reduces the dims in `mask`. Returns false for unsupported tensors.
bool reduce_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask, bool keepdim,
                 const Tensor& out);

// Sets out's shape and writes to it whether any of the elements, or each of them, is not 0. Supports elements and
// results of one byte.
bool reduce_conditions(KernelRuntimeContext& context, bool any, const Tensor& in, DimMask mask, bool keepdim,
                       const Tensor& out);

// reduce_dims() and reduce_conditions() call these functions for float16 and bfloat16, and for integers, whose sums are
// int64.
bool reduce_f16(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& shape,
                const Tensor& out);
// Elements of the dtype Bool may be any bytes.
bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, ScalarType dtype, const Tensor& in,
                     const ReductionShape& shape, const Tensor& out);

// Rows of at most this many elements are transposed before their reduction, so that vectors contain elements of
// different rows.
inline constexpr int64_t kShortRow = 16;
inline constexpr int64_t kTransposedRows = 128;

// Transposes blocks of `outer` short rows of n elements. Calls reduce(block, rows, first row): element i of row r is
// block[i * kTransposedRows + r].
template <typename T, typename Reduce>
void for_transposed_rows(KernelRuntimeContext& context, const T* x, int64_t outer, int64_t n, const Reduce& reduce) {
  const int64_t blocks = (outer + kTransposedRows - 1) / kTransposedRows;
  context.parallel_for(0, blocks, 16, [&](int64_t begin, int64_t end) {
    alignas(64) T block[kShortRow * kTransposedRows];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * kTransposedRows, rows = std::min(kTransposedRows, outer - first);
      transpose(x + first * n, n, rows, n, block, kTransposedRows);
      reduce(static_cast<const T*>(block), rows, first);
    }
  });
}

// With fewer elements than this, a second thread makes a kernel slower.
inline constexpr int64_t kReductionGrain = 16 * 1024;

}  // namespace rushlight::optimized
