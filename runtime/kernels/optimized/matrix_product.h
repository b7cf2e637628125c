#pragma once

#include "microkernels/gemm/f32.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// The product with all threads. False, and the failure recorded, if there is no scratch memory.
bool matrix_product(KernelRuntimeContext& context, const microkernels::Product& product);

// Floats from the matrices of one product to those of the next.
struct Steps {
  int64_t a = 0, b = 0, c = 0;
};

bool matrix_products(KernelRuntimeContext& context, const microkernels::Product& product, int64_t count,
                     const Steps& steps);

}  // namespace rushlight::optimized
