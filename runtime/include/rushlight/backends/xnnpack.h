#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Runs payloads of XnnpackBackend on the linked XNNPACK, and on the kernels of this build what that lacks.
// Options when a method is loaded, all Bool: own_kernels (false): leave nothing to XNNPACK that a kernel can do; tiles
// (true): convolutions and products run on our own tiles where vectors are wide, and quantized nodes; exact (false): by
// no algorithm that changes the order of magnitude of rounding errors.
Backend xnnpack_backend();

}  // namespace rushlight
