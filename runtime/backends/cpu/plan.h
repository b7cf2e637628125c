#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/step.h"
#include "rushlight/core/backend.h"

namespace rushlight::cpu {

// A validated payload: expressions refer to earlier symbols, values to storages and expressions, and so on. What
// depends on sizes is checked by Shapes whenever they change.
struct Plan {
  schema::Plan table;
  Span<FreeableBuffer> constants;  // by storage, and what state is at first; empty for other kinds

  ~Plan() {
    for (FreeableBuffer& buffer : constants) buffer.release();
  }
};

Result<Plan*> read_plan(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator);

template <typename T>
T* make_array(MemoryAllocator& allocator, size_t count) {
  if (count > SIZE_MAX / sizeof(T)) return nullptr;
  T* items = static_cast<T*>(allocator.allocate(count * sizeof(T), alignof(T) > 8 ? alignof(T) : 8));
  if (items == nullptr) return nullptr;
  for (size_t i = 0; i < count; ++i) new (items + i) T();
  return items;
}

}  // namespace rushlight::cpu
