#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Folds clamps, additions and activations into the nodes before them whose result nothing else reads, where those
// nodes' steps take them. `shapes` are [values], at their upper bounds. `options` as for make_step().
Error fuse(Graph* graph, const Shape* shapes, const Options& options, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
