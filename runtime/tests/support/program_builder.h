// Builds .pte files from plain structs. It checks nothing, so that tests can also write invalid programs. The tables of
// schema/program.fbs are written by the positions of their fields, which begin at 0.
#pragma once

#include <string>
#include <vector>

#include "rushlight/core/scalar_type.h"
#include "tests/support/flatbuffer_writer.h"

namespace rushlight::testing {

// The defaults describe a float32 scalar in planned memory.
struct TensorSpec {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;  // empty means 0, 1, ...
  bool is_planned = true;          // whether there is an AllocationDetails with memory_id and offset
  uint32_t memory_id = 1;
  uint64_t offset = 0;
  uint32_t data = 0;  // data_buffer_idx
  int8_t dynamism = 0;
  int32_t storage_offset = 0;
  int8_t layout = 0;
  // The fields of ExtraTensorInfo, which is absent if all of them have their defaults.
  std::string name;
  uint64_t mutable_segment = 0;
  int8_t location = 0;
  int8_t device = 0;
};

// Returns a table with these values of its first fields.
template <typename... Values>
NodePtr table_of(Values... values) {
  auto node = Node::table();
  uint16_t slot = 0;
  (node->set(slot++, std::move(values)), ...);
  return node;
}

// The members of the unions KernelTypes and InstructionArguments of schema/program.fbs.
enum class ValueTag : uint8_t {
  Null = 1,
  Int,
  Bool,
  Double,
  Tensor,
  String,
  IntList,
  DoubleList,
  BoolList,
  TensorList,
  OptionalTensorList,
};
enum class CallTag : uint8_t { Kernel = 1, Delegate, Move, JumpFalse, Free };

// Returns a table with a union: the tag of a member, and the member.
template <typename Tag>
NodePtr tagged(Tag tag, NodePtr member) {
  return table_of(static_cast<uint8_t>(tag), std::move(member));
}

inline NodePtr value(const TensorSpec& spec) {
  std::vector<uint8_t> order = spec.dim_order;
  for (uint8_t i = 0; spec.dim_order.empty() && i < spec.sizes.size(); ++i) order.push_back(i);
  const auto tensor =
      table_of(static_cast<int8_t>(spec.dtype), spec.storage_offset, Node::numbers(spec.sizes), Node::numbers(order));
  tensor->set(5, spec.data).set(7, spec.layout).set(8, spec.dynamism);
  if (spec.is_planned) {
    const auto offset_low = static_cast<uint32_t>(spec.offset), offset_high = static_cast<uint32_t>(spec.offset >> 32);
    tensor->set(6, table_of(spec.memory_id, offset_low, offset_high));
  }
  if (!spec.name.empty() || spec.mutable_segment || spec.location || spec.device) {
    tensor->set(9, table_of(spec.mutable_segment, Node::string(spec.name), spec.location, spec.device));
  }
  return tagged(ValueTag::Tensor, tensor);
}
inline NodePtr none() { return tagged(ValueTag::Null, Node::table()); }
inline NodePtr value(int64_t number) { return tagged(ValueTag::Int, table_of(number)); }
inline NodePtr value(bool truth) { return tagged(ValueTag::Bool, table_of(truth)); }
inline NodePtr value(double number) { return tagged(ValueTag::Double, table_of(number)); }
inline NodePtr value(const char* text) { return tagged(ValueTag::String, table_of(Node::string(text))); }
template <typename T>
NodePtr list(ValueTag tag, const std::vector<T>& items) {
  return tagged(tag, table_of(Node::numbers(items)));
}
inline NodePtr int_list(const std::vector<int64_t>& items) { return list(ValueTag::IntList, items); }
inline NodePtr double_list(const std::vector<double>& items) { return list(ValueTag::DoubleList, items); }
inline NodePtr bool_list(const std::vector<uint8_t>& items) { return list(ValueTag::BoolList, items); }
inline NodePtr tensor_list(const std::vector<int32_t>& items) { return list(ValueTag::TensorList, items); }
inline NodePtr optional_tensor_list(const std::vector<int32_t>& items) {
  return list(ValueTag::OptionalTensorList, items);
}

inline NodePtr kernel_call(int32_t op, const std::vector<int32_t>& args) {
  return tagged(CallTag::Kernel, table_of(op, Node::numbers(args)));
}
inline NodePtr delegate_call(int32_t delegate, const std::vector<int32_t>& args) {
  return tagged(CallTag::Delegate, table_of(delegate, Node::numbers(args)));
}
inline NodePtr move_call(int32_t from, int32_t to) { return tagged(CallTag::Move, table_of(from, to)); }
inline NodePtr jump_false(int32_t condition, int32_t destination) {
  return tagged(CallTag::JumpFalse, table_of(condition, destination));
}
inline NodePtr free_call(int32_t index) { return tagged(CallTag::Free, table_of(index)); }

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

inline NodePtr plan_node(const PlanSpec& plan) {
  std::vector<NodePtr> chains, operators, delegates, devices;
  for (const auto& instructions : plan.chains) {
    auto chain = Node::table();
    chain->set(2, Node::tables(instructions));
    chains.push_back(chain);
  }
  for (const OperatorSpec& op : plan.operators) {
    operators.push_back(table_of(Node::string(op.name), Node::string(op.overload)));
  }
  for (const DelegateSpec& delegate : plan.delegates) {
    std::vector<NodePtr> specs;
    for (const auto& [key, text] : delegate.specs) {
      specs.push_back(table_of(Node::string(key), Node::numbers(std::vector<uint8_t>(text.begin(), text.end()))));
    }
    delegates.push_back(
        table_of(Node::string(delegate.id), table_of(delegate.location, delegate.index), Node::tables(specs)));
  }
  for (const auto& [index, device] : plan.devices) devices.push_back(table_of(index, device));
  auto node = Node::table();
  node->set(0, Node::string(plan.name)).set(2, Node::tables(plan.values)).set(3, Node::numbers(plan.inputs));
  node->set(4, Node::numbers(plan.outputs)).set(5, Node::tables(chains)).set(6, Node::tables(operators));
  node->set(7, Node::tables(delegates)).set(8, Node::numbers(plan.memories)).set(9, Node::tables(devices));
  return node;
}

inline NodePtr subsegment_node(const SubsegmentSpec& spec) {
  return table_of(spec.segment, Node::numbers(spec.offsets));
}

// Returns the bytes of a .pte file, aligned to 16.
inline std::vector<uint8_t> build(const ProgramSpec& spec) {
  std::vector<NodePtr> plans, constants, delegate_data, segments, mutables, named;
  for (const PlanSpec& plan : spec.plans) plans.push_back(plan_node(plan));
  for (const auto& bytes : spec.inline_constants) constants.push_back(table_of(Node::numbers(bytes)));
  for (const auto& bytes : spec.inline_delegate_data) delegate_data.push_back(table_of(Node::numbers(bytes)));
  for (const auto& [offset, size] : spec.segments) segments.push_back(table_of(offset, size));
  for (const SubsegmentSpec& table : spec.mutable_segments) mutables.push_back(subsegment_node(table));
  for (const auto& [key, segment] : spec.named_data) named.push_back(table_of(Node::string(key), segment));
  const auto root =
      table_of(spec.version, Node::tables(plans), Node::tables(constants), Node::tables(delegate_data),
               Node::tables(segments), subsegment_node(spec.constants), Node::tables(mutables), Node::tables(named));

  // A FlatBuffer with an extended header after its identifier (runtime/program/extended_header.cpp), and the segments.
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
