#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Vectorised and threaded kernels. A row takes whatever the portable kernel of that name takes, and calls it for what
// is not covered here. Searched before portable_kernels().
KernelTable optimized_kernels();

}  // namespace rushlight
