#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/kernels/portable.h"

// Registers the table when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_kernels_portable;
extern "C" const bool rushlight_executorch_kernels_portable =
    ::executorch::runtime::internal::register_table(::rushlight::portable_kernels(), 2) ==
    ::executorch::runtime::Error::Ok;
