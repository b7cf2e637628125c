#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

// A backend that a method needs and that cannot run.
struct MissingBackend {
  std::string_view id;    // a view into the program
  bool is_here;           // the backend exists, but is_available() returns false on this machine
  std::string provision;  // text for people: what provides the backend, or the message of an existing backend
};

// Returns the backends that a method lacks, each once, in the order of the method's delegates.
std::vector<MissingBackend> missing_backends(const MethodMeta& meta, BackendTable backends);

// Returns NotFound, with a message that names the backends and what provides them, if a method lacks some.
Error require_backends(const MethodMeta& meta, BackendTable backends);

}  // namespace rushlight
