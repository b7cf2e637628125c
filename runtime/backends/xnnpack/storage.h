#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// A read or write of a value's memory by a step. The reads of a step come before its writes.
struct Use {
  uint32_t step = 0;
  uint32_t root = 0;  // the value that owns the memory
  bool writes = false;
  bool past_end = false;  // the step may also read up to 16 bytes after the end of the memory
};

// Decides which values share memory, and records when each memory is read and written. The executor uses this to find
// steps that are not needed, lifetimes of memory, and memory that must be readable beyond its end.
class Storage {
 public:
  // Finds the values that share the memory of other values.
  Error find_views(const Graph& graph, MemoryAllocator& allocator);
  // Finds the reads and writes of all steps, in order. `steps` are all nodes that are not views.
  Error find_uses(Span<Step* const> steps, MemoryAllocator& allocator);

  // Returns the value that owns the memory of value `id`.
  uint32_t root_of(uint32_t id) const;
  // Whether a node's result shares the memory of its input, so that the node needs no step.
  bool is_view(const Node& node) const;
  // Whether the memory of a value is in the workspace: the value is not an argument and not a constant.
  bool is_in_workspace(uint32_t id) const;
  Span<const Use> uses() const { return {uses_, num_uses_}; }

 private:
  const Graph* graph_ = nullptr;
  uint32_t* roots_ = nullptr;  // [values]
  Use* uses_ = nullptr;
  size_t num_uses_ = 0;
};

}  // namespace rushlight::xnnpack
