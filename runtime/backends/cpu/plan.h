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

}  // namespace rushlight::cpu
