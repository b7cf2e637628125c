#pragma once

#include <optional>

#include "kernels/optimized/gemm.h"
#include "kernels/shared/matmul.h"

namespace rushlight::optimized {

// Computes out = beta * bias + alpha * a x b in float32. Returns false for other layouts than these: the columns of a
// and out are contiguous; the columns or the rows of b are contiguous. A failure is recorded in the context.
bool multiply_matrices(KernelRuntimeContext& context, const MatmulProblem& problem);

}  // namespace rushlight::optimized
