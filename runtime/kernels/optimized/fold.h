#pragma once

#include <cstdint>

#include "kernels/shared/reduce.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// A row-major tensor as [outer, reduced, inner].
struct Fold {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// False if the dims in `mask` are not neighbours (dims of size 1 aside), the tensor is not row-major float32, or it has
// no elements.
bool fold(const Tensor& tensor, DimMask mask, Fold* result);

enum class Reduction : uint8_t { Sum, Mean, Largest, Smallest };

// Sets out's shape and reduces the dims in `mask`. False if it does not cover the tensors.
bool reduce_dims(KernelRuntimeContext& context, Reduction reduction, const Tensor& in, DimMask mask, bool keepdim,
                 const Tensor& out);

}  // namespace rushlight::optimized
