#include "executorch/register_backend.h"
#include "rushlight/backends/cpu.h"

// Registers the backend when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_backend_cpu;
extern "C" const bool rushlight_executorch_backend_cpu =
    ::executorch::runtime::internal::register_native_backend(::rushlight::cpu_backend()) ==
    ::executorch::runtime::Error::Ok;
