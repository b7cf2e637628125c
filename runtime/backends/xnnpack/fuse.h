#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Folds clamps, additions and activations into the nodes that compute their inputs, if no other node reads these inputs
// and the steps of those nodes support it. `shapes` [values] are the upper bounds. `options` are the options of
// make_step().
Error fuse(Graph* graph, const Shape* shapes, const Options& options, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
