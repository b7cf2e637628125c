#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns the table of portable kernels, in plain C++. Their results are the reference for all other kernels.
KernelTable portable_kernels();

}  // namespace rushlight
