#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/result.h"

namespace executorch {
namespace extension {
namespace utils {

// Returns the number of bytes to request from malloc(), so that the result contains `size` bytes at a multiple of
// `alignment`. Returns InvalidArgument if the sum is too large.
inline runtime::Result<size_t> get_aligned_size(size_t size, size_t alignment) {
  if (alignment <= alignof(std::max_align_t)) return size;
  ET_CHECK_OR_RETURN_ERROR(size < SIZE_MAX - (alignment - 1), InvalidArgument, "%zu bytes at a multiple of %zu", size,
                           alignment);
  return size + alignment - 1;
}

}  // namespace utils
}  // namespace extension
}  // namespace executorch
