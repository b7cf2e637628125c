#include "rushlight/core/memory.h"

namespace rushlight {

void* MemoryAllocator::bump(size_t size, size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
  const uintptr_t address = reinterpret_cast<uintptr_t>(current_);
  const size_t padding = static_cast<size_t>(-address & (alignment - 1));
  const size_t left = static_cast<size_t>(end_ - current_);
  if (padding > left || size > left - padding) return nullptr;
  uint8_t* memory = current_ + padding;
  current_ = memory + size;
  return memory;
}

Result<void*> HierarchicalAllocator::get(size_t index, size_t offset, size_t size) const {
  RL_REQUIRE(index < buffers_.size(), InvalidArgument, "planned memory %zu does not exist: the caller provides %zu",
             index + 1, buffers_.size());
  const Span<uint8_t> buffer = buffers_[index];
  RL_REQUIRE(offset <= buffer.size() && size <= buffer.size() - offset, MemoryAllocationFailed,
             "planned memory %zu has %zu bytes, but %zu bytes at offset %zu are needed", index + 1, buffer.size(), size,
             offset);
  return static_cast<void*>(buffer.data() + offset);
}

}  // namespace rushlight
