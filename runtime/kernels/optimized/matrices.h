#pragma once

#include <optional>

#include "kernels/optimized/gemm.h"
#include "kernels/shared/matmul.h"

namespace rushlight::optimized {

// Computes out = beta * bias + alpha * a x b in float32. In a and out, the elements
// of a row must be contiguous; in b, the elements of a row or of a column. Returns false for other layouts. Without
// scratch memory, records the failure and returns true.
bool multiply_matrices(KernelRuntimeContext& context, const MatmulProblem& problem);

}  // namespace rushlight::optimized
