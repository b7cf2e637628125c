#pragma once

#include "kernels/optimized/tiles/byte_product.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// The product with all threads. A right operand that lies as it is is packed first where that pays. False, and the
// failure recorded, if there is no scratch memory.
bool multiply_bytes(KernelRuntimeContext& context, tiles::ByteProduct product);

}  // namespace rushlight::optimized
