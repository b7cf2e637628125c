#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// The kernels of quantized_decomposed and the fused quantized operators, in plain C++.
KernelTable quantized_kernels();

}  // namespace rushlight
