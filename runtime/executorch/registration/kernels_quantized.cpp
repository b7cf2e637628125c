#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/kernels/quantized.h"

// Registers the table when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_kernels_quantized;
extern "C" const bool rushlight_executorch_kernels_quantized =
    ::executorch::runtime::internal::register_table(::rushlight::quantized_kernels(), 1) ==
    ::executorch::runtime::Error::Ok;
