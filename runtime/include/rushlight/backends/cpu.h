#pragma once

#include "rushlight/core/backend.h"

namespace rushlight {

// Returns the row of CpuBackend, which executes plans that the compiler made.
//
// Option when a method is loaded: isa (String) selects the instruction set (generic, avx2, avx512 or neon). The default
// is the best one of the machine. If a plan was made for another instruction set, the backend packs its weights again
// at load and logs this.
Backend cpu_backend();

}  // namespace rushlight
