#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the table of vectorized and threaded kernels. Each row supports everything that the portable kernel of the
// same name supports, and calls that kernel for cases without a faster implementation. Put this table before
// portable_kernels().
KernelTable optimized_kernels();

}  // namespace rushlight
