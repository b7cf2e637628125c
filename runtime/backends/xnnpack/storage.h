#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// A step reads or writes the memory of a value. Reads of a step come before its writes.
struct Use {
  uint32_t step = 0;
  uint32_t root = 0;  // the value that the memory belongs to
  bool writes = false;
  bool beyond = false;  // up to 16 bytes behind it are read too
};

// In what memory the values of a graph lie, and when it is read and written. All that follows from this asks here:
// which nodes need no step, how long memory is kept, what must be readable beyond its end, what may be given back.
class Storage {
 public:
  // Finds the values that lie in the memory of others.
  Error find_views(const Graph& graph, MemoryAllocator& allocator);
  // Finds what the steps read and write, in their order. `steps` are all nodes that are no views.
  Error find_uses(Span<Step* const> steps, MemoryAllocator& allocator);

  // The value whose memory `id` lies in.
  uint32_t root_of(uint32_t id) const;
  // Whether a node's result lies in the memory of its input as it is, so that nothing is to be done.
  bool is_view(const Node& node) const;
  // Whether a value has memory of its own in the workspace: it is computed, and not for the outside.
  bool is_inside(uint32_t id) const;
  Span<const Use> uses() const { return {uses_, num_uses_}; }

 private:
  const Graph* graph_ = nullptr;
  uint32_t* roots_ = nullptr;  // [values]
  Use* uses_ = nullptr;
  size_t num_uses_ = 0;
};

}  // namespace rushlight::xnnpack
