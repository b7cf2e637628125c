#pragma once

#include <optional>

#include "kernels/optimized/gemm.h"
#include "kernels/shared/matmul.h"

namespace rushlight::optimized {

// Returns whether all tensors have the same dtype, and multiply_matrices() supports it: float32, float64 or an integer.
template <typename... Tensors>
bool are_matrices(const Tensor& first, const Tensors&... others) {
  const ScalarType dtype = first.scalar_type();
  return (dtype == ScalarType::Float || dtype == ScalarType::Double || dtypes::kInt.contains(dtype)) &&
         ((others.scalar_type() == dtype) && ...);
}

// Computes out = beta * bias + alpha * a x b. In float32, the elements of a row of a and out must be contiguous; in b,
// the elements of a row or of a column. Returns false for other layouts. Without scratch memory, records the failure
// and returns true.
bool multiply_matrices(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem);
// Does this in float64, or for integers modulo 2^64, for all layouts.
void multiply_wide_matrices(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem);

}  // namespace rushlight::optimized
