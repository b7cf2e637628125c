#pragma once

#include <string>

#include "rushlight/core/result.h"

// Access to shared libraries of the system.
namespace rushlight {

// Returns the absolute path of a file, with links resolved. Returns AccessFailed if there is no such file.
Result<std::string> resolve_path(const char* path);

// Loads a shared library, or returns AccessFailed with the reason. ELF files are checked first: the loader of the
// system does not compare the headers with the file size, so a truncated file would crash the process.
Result<void*> open_shared_object(const char* path);
// Returns the address of a symbol, or null.
void* find_in_shared_object(void* library, const char* symbol);
void close_shared_object(void* library);

}  // namespace rushlight
