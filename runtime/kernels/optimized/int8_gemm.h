#pragma once

#include "microkernels/gemm/int8.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Computes the product with all threads. An unpacked RHS is packed first if this is faster. If there is no scratch
// memory, records the failure and returns false.
bool run_int8_gemm(KernelRuntimeContext& context, microkernels::Int8Gemm gemm);

}  // namespace rushlight::optimized
