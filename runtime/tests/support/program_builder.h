// Builds .pte files from plain structs. It checks nothing, so that tests can also write invalid programs.
#pragma once

#include <string>
#include <vector>

#include "rushlight/core/scalar_type.h"
#include "tests/support/flatbuffer_writer.h"

namespace rushlight::testing {

struct TensorSpec {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;  // empty means 0, 1, ...
  bool is_planned = true;
  uint32_t memory_id = 1;
  uint64_t offset = 0;
  uint32_t data = 0;
  int8_t dynamism = 0;
  int32_t storage_offset = 0;
  int8_t layout = 0;
  std::string name;
  uint64_t mutable_segment = 0;
  int8_t location = 0;
  int8_t device = 0;
};

inline NodePtr tagged(uint8_t tag, NodePtr value) {
  auto node = Node::table();
  node->set(0, tag).set(1, std::move(value));
  return node;
}

inline NodePtr value(const TensorSpec& spec) {
  auto tensor = Node::table();
  std::vector<uint8_t> order = spec.dim_order;
  for (uint8_t i = 0; spec.dim_order.empty() && i < spec.sizes.size(); ++i) order.push_back(i);
  tensor->set(0, static_cast<int8_t>(spec.dtype)).set(1, spec.storage_offset).set(2, Node::numbers(spec.sizes));
  tensor->set(3, Node::numbers(order)).set(5, spec.data).set(7, spec.layout).set(8, spec.dynamism);
  if (spec.is_planned) {
    auto place = Node::table();
    place->set(0, spec.memory_id).set(1, static_cast<uint32_t>(spec.offset));
    place->set(2, static_cast<uint32_t>(spec.offset >> 32));
    tensor->set(6, place);
  }
  if (!spec.name.empty() || spec.mutable_segment || spec.location || spec.device) {
    auto extra = Node::table();
    extra->set(0, spec.mutable_segment).set(1, Node::string(spec.name)).set(2, spec.location).set(3, spec.device);
    tensor->set(9, extra);
  }
  return tagged(5, tensor);
}
inline NodePtr none() { return tagged(1, Node::table()); }
inline NodePtr value(int64_t number) {
  auto node = Node::table();
  node->set(0, number);
  return tagged(2, node);
}
inline NodePtr value(bool truth) {
  auto node = Node::table();
  node->set(0, truth);
  return tagged(3, node);
}
inline NodePtr value(double number) {
  auto node = Node::table();
  node->set(0, number);
  return tagged(4, node);
}
inline NodePtr value(const char* text) {
  auto node = Node::table();
  node->set(0, Node::string(text));
  return tagged(6, node);
}
template <typename T>
NodePtr list(uint8_t tag, const std::vector<T>& items) {
  auto node = Node::table();
  node->set(0, Node::numbers(items));
  return tagged(tag, node);
}
inline NodePtr int_list(const std::vector<int64_t>& items) { return list(7, items); }
inline NodePtr double_list(const std::vector<double>& items) { return list(8, items); }
inline NodePtr bool_list(const std::vector<uint8_t>& items) { return list(9, items); }
inline NodePtr tensor_list(const std::vector<int32_t>& items) { return list(10, items); }
inline NodePtr optional_tensor_list(const std::vector<int32_t>& items) { return list(11, items); }

inline NodePtr kernel_call(int32_t op, const std::vector<int32_t>& args) {
  auto node = Node::table();
  node->set(0, op).set(1, Node::numbers(args));
  return tagged(1, node);
}
inline NodePtr delegate_call(int32_t delegate, const std::vector<int32_t>& args) {
  auto node = Node::table();
  node->set(0, delegate).set(1, Node::numbers(args));
  return tagged(2, node);
}
inline NodePtr move_call(int32_t from, int32_t to) {
  auto node = Node::table();
  node->set(0, from).set(1, to);
  return tagged(3, node);
}
inline NodePtr jump_false(int32_t condition, int32_t destination) {
  auto node = Node::table();
  node->set(0, condition).set(1, destination);
  return tagged(4, node);
}
inline NodePtr free_call(int32_t index) {
  auto node = Node::table();
  node->set(0, index);
  return tagged(5, node);
}

struct OperatorSpec {
  std::string name;
  std::string overload;
};

struct DelegateSpec {
  std::string id;
  int8_t location = 1;  // 1: in a segment
  uint32_t index = 0;
  std::vector<std::pair<std::string, std::string>> specs;
};

struct PlanSpec {
  std::string name = "forward";
  std::vector<NodePtr> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<std::vector<NodePtr>> chains;
  std::vector<OperatorSpec> operators;
  std::vector<DelegateSpec> delegates;
  std::vector<int64_t> memories = {0};
  std::vector<std::pair<int32_t, int8_t>> devices;
};

struct SubsegmentSpec {
  uint32_t segment = 0;
  std::vector<uint64_t> offsets;
};

struct ProgramSpec {
  uint32_t version = 0;
  std::vector<PlanSpec> plans;
  std::vector<std::vector<uint8_t>> inline_constants;
  std::vector<std::vector<uint8_t>> inline_delegate_data;
  std::vector<std::pair<uint64_t, uint64_t>> segments;  // offset, size
  SubsegmentSpec constants;
  std::vector<SubsegmentSpec> mutable_segments;
  std::vector<std::pair<std::string, uint32_t>> named_data;
  std::vector<uint8_t> segment_data;
};

template <typename T>
NodePtr at(uint16_t slot, T inner) {
  auto node = Node::table();
  node->set(slot, std::move(inner));
  return node;
}

inline NodePtr plan_node(const PlanSpec& plan) {
  std::vector<NodePtr> chains, operators, delegates, devices;
  for (const auto& instructions : plan.chains) {
    std::vector<NodePtr> wrapped = instructions;
    auto chain = Node::table();
    chain->set(2, Node::tables(wrapped));
    chains.push_back(chain);
  }
  for (const OperatorSpec& op : plan.operators) {
    auto node = Node::table();
    node->set(0, Node::string(op.name)).set(1, Node::string(op.overload));
    operators.push_back(node);
  }
  for (const DelegateSpec& delegate : plan.delegates) {
    auto data = Node::table();
    data->set(0, delegate.location).set(1, delegate.index);
    std::vector<NodePtr> specs;
    for (const auto& [key, text] : delegate.specs) {
      auto spec = Node::table();
      spec->set(0, Node::string(key)).set(1, Node::numbers(std::vector<uint8_t>(text.begin(), text.end())));
      specs.push_back(spec);
    }
    auto node = Node::table();
    node->set(0, Node::string(delegate.id)).set(1, data).set(2, Node::tables(specs));
    delegates.push_back(node);
  }
  for (const auto& [index, device] : plan.devices) {
    auto node = Node::table();
    node->set(0, index).set(1, device);
    devices.push_back(node);
  }
  auto node = Node::table();
  node->set(0, Node::string(plan.name)).set(2, Node::tables(plan.values)).set(3, Node::numbers(plan.inputs));
  node->set(4, Node::numbers(plan.outputs)).set(5, Node::tables(chains)).set(6, Node::tables(operators));
  node->set(7, Node::tables(delegates)).set(8, Node::numbers(plan.memories)).set(9, Node::tables(devices));
  return node;
}

inline NodePtr subsegment_node(const SubsegmentSpec& spec) {
  auto node = Node::table();
  node->set(0, spec.segment).set(1, Node::numbers(spec.offsets));
  return node;
}

// Returns the bytes of a .pte file, aligned to 16.
inline std::vector<uint8_t> build(const ProgramSpec& spec) {
  std::vector<NodePtr> plans, constants, delegate_data, segments, mutables, named;
  for (const PlanSpec& plan : spec.plans) plans.push_back(plan_node(plan));
  for (const auto& bytes : spec.inline_constants) constants.push_back(at(0, Node::numbers(bytes)));
  for (const auto& bytes : spec.inline_delegate_data) delegate_data.push_back(at(0, Node::numbers(bytes)));
  for (const auto& [offset, size] : spec.segments) {
    auto node = Node::table();
    node->set(0, offset).set(1, size);
    segments.push_back(node);
  }
  for (const SubsegmentSpec& table : spec.mutable_segments) mutables.push_back(subsegment_node(table));
  for (const auto& [key, segment] : spec.named_data) {
    auto node = Node::table();
    node->set(0, Node::string(key)).set(1, segment);
    named.push_back(node);
  }
  auto root = Node::table();
  root->set(0, spec.version).set(1, Node::tables(plans)).set(2, Node::tables(constants));
  root->set(3, Node::tables(delegate_data)).set(4, Node::tables(segments)).set(5, subsegment_node(spec.constants));
  root->set(6, Node::tables(mutables)).set(7, Node::tables(named));

  std::vector<uint8_t> file(40);
  const auto at_root = static_cast<uint32_t>(root->write(&file));
  std::memcpy(file.data(), &at_root, 4);
  std::memcpy(file.data() + 4, "ET12eh00", 8);
  const uint32_t length = 32;
  std::memcpy(file.data() + 12, &length, 4);
  const uint64_t tables_size = file.size();
  while (!spec.segment_data.empty() && file.size() % 16 != 0) file.push_back(0);
  const uint64_t base = spec.segment_data.empty() ? 0 : file.size();
  const uint64_t size = spec.segment_data.size();
  std::memcpy(file.data() + 16, &tables_size, 8);
  std::memcpy(file.data() + 24, &base, 8);
  std::memcpy(file.data() + 32, &size, 8);
  file.insert(file.end(), spec.segment_data.begin(), spec.segment_data.end());
  return file;
}

}  // namespace rushlight::testing
