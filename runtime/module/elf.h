#pragma once

#include "rushlight/core/error.h"

namespace rushlight {

// Checks a shared library before it is loaded. The system's loader does not compare the headers with the size of the
// file, and a truncated file would end the process. Returns AccessFailed if the file cannot be read, is not a shared
// object, or is shorter than its segments. On systems without ELF nothing is checked.
Error check_shared_object(const char* path);

}  // namespace rushlight
