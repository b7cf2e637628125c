#pragma once

#include <optional>

#include "kernels/optimized/matrix_product.h"
#include "kernels/shared/matmul.h"

namespace rushlight::optimized {

// out = beta * bias + alpha * a x b in float32. False if memory layouts other than these are met: a and out with
// adjacent columns, b with adjacent columns or adjacent rows. A failure is recorded in the context.
bool multiply_matrices(KernelRuntimeContext& context, const MatmulProblem& problem);

}  // namespace rushlight::optimized
