#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Folds clamps, additions and activations into the producers of their inputs, if nothing else reads these inputs and
// the producers' steps support it. `shapes` are [values], at their upper bounds. `options` as for make_step().
Error fuse(Graph* graph, const Shape* shapes, const Options& options, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
