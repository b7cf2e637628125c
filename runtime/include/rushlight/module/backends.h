#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rushlight/core/backend.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

// A backend that a method needs and cannot have.
struct MissingBackend {
  std::string_view id;    // a view into the program
  bool is_here;           // but is_available() says no on this machine
  std::string provision;  // for people: what would provide it, or what a backend that is here said
};

// Each backend once, in the order of the method's delegates.
std::vector<MissingBackend> missing_backends(const MethodMeta& meta, BackendTable backends);

// NotFound, with the backends and what would provide them, if some are missing.
Error require_backends(const MethodMeta& meta, BackendTable backends);

}  // namespace rushlight
