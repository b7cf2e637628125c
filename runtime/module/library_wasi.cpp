#include "rushlight/module/library.h"

namespace rushlight {

Result<const LoadedLibrary*> load_library(const char* path) {
  return fail(Error::NotSupported,
              "'%.300s' cannot be loaded: this system has no shared libraries; link the kernels and backends into "
              "the application, and list them in Environment::kernels and Environment::backends",
              path);
}

std::vector<const LoadedLibrary*> loaded_libraries() { return {}; }

}  // namespace rushlight
