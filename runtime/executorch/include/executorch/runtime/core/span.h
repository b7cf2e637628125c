#pragma once

#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/span.h"

namespace executorch {
namespace runtime {

// A view of writable elements.
template <typename T>
using Span = ::rushlight::Span<T>;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Span;
}  // namespace executor
}  // namespace torch
