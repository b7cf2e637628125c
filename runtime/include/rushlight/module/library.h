#pragma once

#include <string>
#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/result.h"

namespace rushlight {

// A shared library of kernels and backends (see core/library.h). It stays loaded for the rest of the process.
struct LoadedLibrary {
  std::string name;
  std::string path;  // absolute, without links
  std::vector<Kernel> rows;
  std::vector<Backend> backends;

  KernelTable kernels() const { return {rows.data(), rows.size()}; }
};

// Loads a library. If it is loaded already, returns the loaded one. Any thread may call this function.
//
// Errors: AccessFailed if the file does not exist or the system cannot load it; NotSupported if it is not a library of
// Rushlight or was built with headers of another version; InvalidArgument if a row is invalid or another library has a
// row of the same name.
Result<const LoadedLibrary*> load_library(const char* path);

// Returns the loaded libraries in the order in which they were loaded.
std::vector<const LoadedLibrary*> loaded_libraries();

}  // namespace rushlight
