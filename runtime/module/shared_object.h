#pragma once

#include <string>

#include "rushlight/core/result.h"

// Shared libraries of the system.
namespace rushlight {

// Returns the absolute path of a file without links. Returns AccessFailed if there is none.
Result<std::string> resolve_path(const char* path);

// Loads a shared library, and names the reason if this is impossible. ELF files are checked before: the system's loader
// does not compare the headers with the size of the file, and a truncated file would end the process.
Result<void*> open_shared_object(const char* path);
// Returns the address of a symbol, or null.
void* find_in_shared_object(void* library, const char* symbol);
void close_shared_object(void* library);

}  // namespace rushlight
