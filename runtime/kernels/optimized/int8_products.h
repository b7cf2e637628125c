#pragma once

#include "microkernels/gemm/int8.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Computes the product with all threads. An unpacked RHS is packed first if this is faster. If there is no scratch
// memory, records the failure and returns false.
bool multiply_bytes(KernelRuntimeContext& context, microkernels::Int8Product product);

}  // namespace rushlight::optimized
