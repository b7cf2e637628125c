// Memory of the platform and of allocators that fails at a chosen call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "rushlight/core/memory.h"
#include "rushlight/platform/platform.h"

namespace rushlight::testing {

struct FailingMemory {
  long calls = 0;          // calls since it was set to 0
  long failing_call = -1;  // the number of the call that fails, or -1
  long live = 0;           // allocations of the platform that are not released
};
inline FailingMemory failing_memory;

inline bool allocation_fails() { return failing_memory.calls++ == failing_memory.failing_call; }

inline void* allocate_or_fail(size_t size, size_t alignment) {
  if (allocation_fails()) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max<size_t>(size, 1)) != 0) return nullptr;
  ++failing_memory.live;
  return memory;
}

inline void release_piece(void* memory) {
  if (memory) --failing_memory.live;
  std::free(memory);
}

// Makes the platform's memory fail as failing_memory says.
inline void fail_memory_of_platform() {
  platform::Hooks hooks;
  hooks.allocate = allocate_or_fail;
  hooks.release = release_piece;
  platform::set_hooks(hooks);
}

// A BufferAllocator that fails as failing_memory says.
class FailingAllocator final : public MemoryAllocator {
 public:
  explicit FailingAllocator(std::vector<uint8_t>& memory) : MemoryAllocator(memory.data(), memory.size()) {}
  void* allocate(size_t size, size_t alignment) override {
    return allocation_fails() ? nullptr : bump(size, alignment);
  }
};

inline bool is_error_of_memory(Error error) {
  return error == Error::MemoryAllocationFailed || error == Error::DelegateMemoryAllocationFailed ||
         error == Error::OutOfResources;
}

}  // namespace rushlight::testing
