#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the table of kernels for the operators of quantized_decomposed and for fused quantized operators.
KernelTable quantized_kernels();

}  // namespace rushlight
