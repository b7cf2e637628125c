#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Runs payloads of CpuBackend: plans made ahead of time over channels-last images and packed weights.
// Options when a method is loaded: isa (String): the instruction set to use (generic, avx2, avx512, neon) in place of
// the best one. A plan for another instruction set is packed anew when it is loaded, which the log says.
Backend cpu_backend();

}  // namespace rushlight
