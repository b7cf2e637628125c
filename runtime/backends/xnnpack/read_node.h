#pragma once

#include "backends/xnnpack/graph.h"

namespace rushlight::xnnpack {

// Takes a node out of its table and checks its parameters, but not that its values exist and have fitting shapes.
Error read_node(const schema::XNode& table, Node* node);

}  // namespace rushlight::xnnpack
