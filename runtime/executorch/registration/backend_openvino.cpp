#include "executorch/register_backend.h"
#include "rushlight/backends/openvino.h"

// Registers the backend when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_backend_openvino;
extern "C" const bool rushlight_executorch_backend_openvino =
    ::executorch::runtime::internal::register_native_backend(::rushlight::openvino_backend()) ==
    ::executorch::runtime::Error::Ok;
