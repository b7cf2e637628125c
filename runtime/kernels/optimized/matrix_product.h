#pragma once

#include "kernels/optimized/tiles/product.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// The product with all threads. False, and the failure recorded, if there is no scratch memory.
bool matrix_product(KernelRuntimeContext& context, const tiles::Product& product);

// `count` products; a, b and c of the next are a_step, b_step and c_step floats further on.
bool matrix_products(KernelRuntimeContext& context, const tiles::Product& product, int64_t count, int64_t a_step,
                     int64_t b_step, int64_t c_step);

}  // namespace rushlight::optimized
