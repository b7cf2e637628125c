#pragma once

#include <cstdint>

#include "kernels/shared/reduce.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// A row-major tensor as [outer, reduced, inner].
struct ReductionShape {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// False if the dims in `mask` are not neighbours (dims of size 1 aside), the tensor is not row-major float32, or it has
// no elements.
bool fold(const Tensor& tensor, DimMask mask, ReductionShape* result);
// The same for elements of any type.
bool shape_of_reduced_elements(const Tensor& tensor, DimMask mask, ReductionShape* result);

enum class Reduction : uint8_t { Sum, Mean, Largest, Smallest };

// Sets out's shape and reduces the dims in `mask`. False if it does not cover the tensors.
bool reduce_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask, bool keepdim,
                 const Tensor& out);

// What reduce_dims() calls for float16 and bfloat16, and for integers, where results of sums are int64.
bool reduce_f16(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& fold,
                const Tensor& out);
bool reduce_integers(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, const ReductionShape& fold,
                     const Tensor& out);

// Elements that one thread reduces sooner than it hands half of them to another.
inline constexpr int64_t kReductionGrain = 16 * 1024;

}  // namespace rushlight::optimized
