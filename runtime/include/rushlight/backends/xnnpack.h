#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Runs payloads of XnnpackBackend on the linked XNNPACK, and on the kernels of this build what that lacks.
// Options when a method is loaded: own_kernels (Bool): leave nothing to XNNPACK that a kernel can do.
Backend xnnpack_backend();

}  // namespace rushlight
