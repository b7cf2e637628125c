#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/kernels/optimized.h"

// Registers the table when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_kernels_optimized;
extern "C" const bool rushlight_executorch_kernels_optimized =
    ::executorch::runtime::internal::register_table(::rushlight::optimized_kernels(), 0) ==
    ::executorch::runtime::Error::Ok;
