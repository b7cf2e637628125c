#include "backends/xnnpack/storage.h"

#include "core/make_array.h"

namespace rushlight::xnnpack {
namespace {

bool keeps_elements(Kind kind) { return kind == Kind::XNNStaticReshape || kind == Kind::XNNCopy; }

}  // namespace

// A view can share its input's memory, because no step changes values in place. If the view is an output, the caller
// provides its memory. The input then also uses this memory, unless the input is an argument or a constant itself.
Error Storage::find_views(const Graph& graph, MemoryAllocator& allocator) {
  graph_ = &graph;
  roots_ = make_array<uint32_t>(allocator, graph.values.size());
  RL_REQUIRE(roots_ != nullptr, MemoryAllocationFailed, "no memory for %zu values", graph.values.size());
  for (uint32_t i = 0; i < graph.values.size(); ++i) roots_[i] = i;
  for (const Node& node : graph.nodes) {
    if (!keeps_elements(node.kind)) continue;
    const uint32_t in = root_of(node.inputs[0]);
    const Value &source = graph.values[in], &result = graph.values[node.output];
    if (source.dtype != result.dtype) continue;
    if (result.argument == kNone) {
      roots_[node.output] = in;
    } else if (is_in_workspace(in)) {
      roots_[in] = node.output;
    }
  }
  return Error::Ok;
}

uint32_t Storage::root_of(uint32_t id) const {
  while (roots_[id] != id) id = roots_[id];
  return id;
}

bool Storage::is_view(const Node& node) const {
  return keeps_elements(node.kind) && root_of(node.inputs[0]) == root_of(node.output);
}

bool Storage::is_in_workspace(uint32_t id) const {
  const Value& value = graph_->values[id];
  return value.argument == kNone && value.constant == nullptr;
}

Error Storage::find_uses(Span<Step* const> steps, MemoryAllocator& allocator) {
  size_t most = 0;
  for (const Step* step : steps) most += step->node().num_inputs + 1;
  uses_ = make_array<Use>(allocator, most);
  RL_REQUIRE(uses_ || most == 0, MemoryAllocationFailed, "no memory for %zu uses of values", most);
  num_uses_ = 0;
  for (uint32_t s = 0; s < steps.size(); ++s) {
    const Node& node = steps[s]->node();
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      if (node.inputs[i] == kNone || !steps[s]->reads(i)) continue;
      uses_[num_uses_++] = {s, root_of(node.inputs[i]), false, steps[s]->reads_past_end()};
    }
    uses_[num_uses_++] = {s, root_of(node.output), true, false};
  }
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
