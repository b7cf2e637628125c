#pragma once

#include <cstddef>

#include "rushlight/core/backend.h"

namespace rushlight {

// Runs payloads of OpenvinoBackend on OpenVINO's library (libopenvino_c), which is loaded when a program first needs
// it: the one that OPENVINO_LIB_PATH names, else the one that the locator finds, else the loader's own.
Backend openvino_backend();

// Writes the library's path, terminated, into `path` of `size` bytes, and says whether there is one.
using OpenvinoLocator = bool (*)(char* path, size_t size);
// Called at most until a library has been loaded.
void set_openvino_locator(OpenvinoLocator locator);

}  // namespace rushlight
