#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"

namespace rushlight::xnnpack {

// Checks a payload and reads a graph from it. The payload may be freed afterwards, unless `keeps_payload` is set
// because constants are stored in the payload itself. Named constants come from `named_data`, which may be null. The
// graph lives in `allocator`; the caller calls its destructor.
Result<Graph*> read_graph(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator,
                          bool* keeps_payload);

}  // namespace rushlight::xnnpack
