#include "executorch/register_backend.h"
#include "rushlight/backends/xnnpack.h"
#include "rushlight/module/defaults.h"

// Registers the backend when the program starts. The linker keeps this object because of its symbol.
extern "C" const bool rushlight_executorch_backend_xnnpack;
extern "C" const bool rushlight_executorch_backend_xnnpack =
    ::executorch::runtime::internal::register_native_backend(
        ::rushlight::xnnpack_backend(::rushlight::default_kernels())) == ::executorch::runtime::Error::Ok;
