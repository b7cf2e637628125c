#pragma once

#include "rushlight/core/error.h"
#include "rushlight/core/memory.h"

namespace rushlight {

// Returns OutOfResources, with the limit in the message, if the last allocation exceeded the limit, else `code`.
inline Error report_memory_limit(const MemoryAllocator* allocator, Error code) {
  const size_t limit = allocator ? allocator->exceeded_limit() : 0;
  const bool is_memory = code == Error::MemoryAllocationFailed || code == Error::DelegateMemoryAllocationFailed;
  if (!is_memory || limit == 0) return code;
  return fail(Error::OutOfResources, "%s: this exceeds the limit of %zu bytes (Limits::memory)", last_error_message(),
              limit);
}

}  // namespace rushlight
