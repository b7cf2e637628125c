#pragma once

#include <cstdint>

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

// Sets out's shape and reduces the dims in `mask`. Returns false for unsupported tensors.
bool reduce_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask, bool keepdim,
                 const Tensor& out);

// reduce_dims() calls these functions for float16 and bfloat16, and for integers, whose sums are int64.
bool reduce_f16(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& shape,
                const Tensor& out);
bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& shape,
                     const Tensor& out);

// With fewer elements than this, a second thread makes a kernel slower.
inline constexpr int64_t kReductionGrain = 16 * 1024;

}  // namespace rushlight::optimized
