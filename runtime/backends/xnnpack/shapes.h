#pragma once

#include <optional>

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Sets shapes[node.output] from the shapes of the node's inputs. `shapes` [values] has an element for each value.
// Returns InvalidProgram if the shapes of the inputs do not match the node's parameters. Images are [batch, height,
// width, channels].
Error infer_shape(const Graph& graph, const Node& node, Shape* shapes);

// If an input of a node is empty and its result is not, all elements of the result have one value. Returns this value,
// or nullopt if the result is undefined.
std::optional<float> fill_value(const Graph& graph, const Node& node);

}  // namespace rushlight::xnnpack
