#include "rushlight/module/library.h"

namespace rushlight {

Result<const LoadedLibrary*> load_library(const char* path) {
  return fail(Error::NotSupported,
              "'%.300s' cannot be loaded: this system has no shared libraries; link its rows and "
              "list them in Environment::kernels or Environment::backends",
              path);
}

std::vector<const LoadedLibrary*> loaded_libraries() { return {}; }

}  // namespace rushlight
