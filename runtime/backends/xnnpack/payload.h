#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"

namespace rushlight::xnnpack {

// Checks a payload and takes everything out of it; the bytes are not needed afterwards, but for constants that are
// stored in the payload itself (`keeps_payload`). Constants by name come from `named_data`, which may be null.
// The graph lives in `allocator`; its destructor is the caller's to call.
Result<Graph*> read_graph(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator,
                          bool* keeps_payload);

}  // namespace rushlight::xnnpack
