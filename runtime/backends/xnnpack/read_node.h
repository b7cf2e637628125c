#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Reads a node from its table and validates its parameters. It does not check that the values exist and have valid
// shapes.
Error read_node(const schema::XNode& table, Node* node);

}  // namespace rushlight::xnnpack
