#pragma once

#include <optional>

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets shapes[node.output] from shapes[node.inputs[...]]; `shapes` has an element for each value. Fails if the input
// shapes do not fit the node's parameters. Images are [batch, height, width, channels].
Error infer_shape(const Graph& graph, const Node& node, Shape* shapes);

// Returns the value of all elements of a result that is not empty although an input is empty, or nullopt if such a
// result is undefined.
std::optional<float> value_of_nothing(const Graph& graph, const Node& node);

}  // namespace rushlight::xnnpack
