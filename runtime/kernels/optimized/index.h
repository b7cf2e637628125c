// A kernel returns false if it does not support the arguments; then the portable kernel of the same name runs.
#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool index_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                   const Tensor& source, const Scalar& alpha, Tensor& out);

}  // namespace rushlight::optimized
