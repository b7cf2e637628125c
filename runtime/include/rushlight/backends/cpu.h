#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Returns the row of CpuBackend, which executes plans that the compiler made.
//
// Option when a method is loaded: isa (String) is the instruction set to use (generic, avx2, avx512, neon) instead of
// the best one of the machine. If a plan was made for another instruction set, its weights are packed again at load,
// and the log says so.
Backend cpu_backend();

}  // namespace rushlight
