#pragma once

#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace rushlight {

// Every kernel that this build has, the fastest first.
Span<const KernelTable> default_kernels();

// Every backend that this build has.
BackendTable default_backends();

// Those of the libraries loaded so far (see module/library.h), which take precedence, then this build's.
std::vector<KernelTable> available_kernels();
std::vector<Backend> available_backends();

}  // namespace rushlight
