#pragma once

#include "executorch/runtime/platform/compiler.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// The context of set_option() and get_option() of a backend.
class BackendOptionContext final {
 public:
  explicit BackendOptionContext() = default;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::BackendOptionContext;
}  // namespace executor
}  // namespace torch
