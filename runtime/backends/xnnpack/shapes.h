#pragma once

#include <optional>

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets shapes[node.output] from shapes[node.inputs[...]], all of them [values]. Fails if they and the node's parameters
// do not fit together. Images are [batch, height, width, channels].
Error infer_shape(const Graph& graph, const Node& node, Shape* shapes);

// Returns the value of all elements of the result if an input is empty and the result is not, or none if that has no
// meaning.
std::optional<float> value_of_nothing(const Graph& graph, const Node& node);

}  // namespace rushlight::xnnpack
