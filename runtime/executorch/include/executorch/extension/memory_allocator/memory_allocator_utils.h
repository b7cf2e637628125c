#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/core/result.h"

namespace executorch {
namespace extension {
namespace utils {

// Returns the size to allocate, so that `size` bytes begin at a multiple of `alignment`; InvalidArgument if it
// overflows.
inline runtime::Result<size_t> get_aligned_size(size_t size, size_t alignment) {
  if (alignment <= alignof(std::max_align_t)) return size;
  if (size >= SIZE_MAX - (alignment - 1)) return runtime::Error::InvalidArgument;
  return size + alignment - 1;
}

}  // namespace utils
}  // namespace extension
}  // namespace executorch
