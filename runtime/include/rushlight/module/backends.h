#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

// A backend that a method needs, but that does not exist or cannot run.
struct MissingBackend {
  std::string_view id;    // a view into the program
  bool is_here;           // whether the backend exists; its is_available() then returns false
  std::string provision;  // message for the user: how to get the backend, or why it cannot run
};

// Returns the missing backends of a method, each once, in the order of the method's delegates.
std::vector<MissingBackend> missing_backends(const MethodMeta& meta, BackendTable backends);

// Returns NotFound if backends of a method are missing. The message names these backends and how to install them.
Error require_backends(const MethodMeta& meta, BackendTable backends);

}  // namespace rushlight
