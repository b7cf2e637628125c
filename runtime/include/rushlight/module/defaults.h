#pragma once

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace rushlight {

// Every kernel that this build has, the fastest first.
Span<const KernelTable> default_kernels();

// Every backend that this build has.
BackendTable default_backends();

}  // namespace rushlight
