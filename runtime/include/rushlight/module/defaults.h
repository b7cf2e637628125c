#pragma once

#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns all kernel tables of this build, with faster kernels first.
Span<const KernelTable> default_kernels();

// Returns all backends of this build.
BackendTable default_backends();

// Return the kernels and backends of the loaded libraries (see module/library.h), followed by the build's own.
std::vector<KernelTable> available_kernels();
std::vector<Backend> available_backends();

}  // namespace rushlight
