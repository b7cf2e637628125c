#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"

namespace rushlight::xnnpack {

// Validates a payload and reads a graph from it. If `keeps_payload` is set, constants are stored in the payload itself;
// otherwise the payload may be freed afterwards. Named constants come from `named_data`, which may be null. The memory
// of the graph belongs to `allocator`; the caller calls the graph's destructor.
Result<Graph*> read_graph(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator,
                          bool* keeps_payload);

}  // namespace rushlight::xnnpack
