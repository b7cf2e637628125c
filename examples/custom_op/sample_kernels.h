#pragma once

#include "rushlight/core/kernel.h"

// The kernels of the library `sample`, for applications that link them.
rushlight::KernelTable sample_kernels();
