#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// The portable kernels: plain C++, and the reference for every other library's results.
KernelTable portable_kernels();

}  // namespace rushlight
