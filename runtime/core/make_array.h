#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "rushlight/core/memory.h"

namespace rushlight {

// Returns an array of `count` default values in the memory of `allocator`, or null if there is not enough memory. The
// destructors of the values are never called.
template <typename T>
T* make_array(MemoryAllocator& allocator, size_t count) {
  T* items = allocator.allocate_array<T>(count);
  if (items == nullptr) return nullptr;
  for (size_t i = 0; i < count; ++i) new (items + i) T();
  return items;
}

}  // namespace rushlight
