#pragma once

#include "executorch/runtime/platform/compiler.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// What a backend may use while its options are set or read.
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
