#pragma once

#include "microkernels/gemm/int8.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// The product with all threads. An RHS that lies as it is is packed first where that pays. False, and the
// failure recorded, if there is no scratch memory.
bool multiply_bytes(KernelRuntimeContext& context, microkernels::Int8Product product);

}  // namespace rushlight::optimized
