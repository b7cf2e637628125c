#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets shapes[node.output] from shapes[node.inputs[...]], all of them [values]. Fails if they and the node's parameters
// do not fit together. Pictures are [batch, height, width, channels].
Error infer_shape(const Graph& graph, const Node& node, Shape* shapes);

}  // namespace rushlight::xnnpack
