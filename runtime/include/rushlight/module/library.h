#pragma once

#include <string>
#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/result.h"

namespace rushlight {

// A shared library of kernels and backends (see core/library.h). It stays for the rest of the process.
struct LoadedLibrary {
  std::string name;
  std::string path;  // absolute, without links
  std::vector<Kernel> rows;
  std::vector<Backend> backends;

  KernelTable kernels() const { return {rows.data(), rows.size()}; }
};

// Loads the library, once: a path that is loaded already gives the same one. From any thread.
// AccessFailed: there is no such file, or the system cannot load it. NotSupported: it is no library of Rushlight's, or
// was built against headers of another version. InvalidArgument: a row is wrong, or a library loaded before has a row
// of the same name.
Result<const LoadedLibrary*> load_library(const char* path);

// The libraries loaded so far, in the order of their loading.
std::vector<const LoadedLibrary*> loaded_libraries();

}  // namespace rushlight
