#pragma once

#include "rushlight/core/error.h"

namespace rushlight {

// The system's loader maps what a shared object's headers name without looking whether the file is as long, and a
// truncated one ends the process. AccessFailed for a file that cannot be read, is no shared object, or is shorter than
// its segments. On systems whose objects are not ELF nothing is checked.
Error check_shared_object(const char* path);

}  // namespace rushlight
