#pragma once

#include <cstddef>

#include "rushlight/core/backend.h"

namespace rushlight {

// Returns the row of OpenvinoBackend, which runs parts of a program with OpenVINO. Its library (libopenvino_c) is
// loaded when the first program needs it: from the path in OPENVINO_LIB_PATH, else from the path of the locator, else
// from the search path of the system's loader.
Backend openvino_backend();

// A function that finds the library. It writes the path of the library, with a final NUL, into `path`, which has `size`
// bytes. It returns whether the library exists.
using OpenvinoLocator = bool (*)(char* path, size_t size);
// Sets the locator. It is not called after a library was loaded.
void set_openvino_locator(OpenvinoLocator locator);

}  // namespace rushlight
