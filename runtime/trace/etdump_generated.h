// Generated from schema/etdump.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"
#include "program/schema_generated.h"

namespace rushlight::schema::etdump {

enum class ValueType : int8_t {
  Null = 0,
  Int = 1,
  Bool = 2,
  Float = 3,
  Double = 4,
  Tensor = 5,
  TensorList = 6,
  String = 7,
};

struct Null : flatbuffer::Table {
  using Table::Table;
};

// The elements are in the debug buffer, from byte `offset` on.
struct Tensor : flatbuffer::Table {
  using Table::Table;
  ::rushlight::schema::ScalarType scalar_type() const { return scalar<::rushlight::schema::ScalarType>(4, ::rushlight::schema::ScalarType::BYTE); }
  flatbuffer::Vector<int64_t> sizes() const { return vector<int64_t>(6); }
  bool has_sizes() const { return field(6) != nullptr; }
  flatbuffer::Vector<int64_t> strides() const { return vector<int64_t>(8); }
  bool has_strides() const { return field(8) != nullptr; }
  int64_t offset() const { return scalar<int64_t>(10, 0); }
};

struct Int : flatbuffer::Table {
  using Table::Table;
  int64_t int_val() const { return scalar<int64_t>(4, 0); }
};

struct Bool : flatbuffer::Table {
  using Table::Table;
  bool bool_val() const { return scalar<bool>(4, false); }
};

struct Float : flatbuffer::Table {
  using Table::Table;
  float float_val() const { return scalar<float>(4, 0.0f); }
};

struct Double : flatbuffer::Table {
  using Table::Table;
  double double_val() const { return scalar<double>(4, 0.0); }
};

struct String : flatbuffer::Table {
  using Table::Table;
  std::string_view string_val() const { return string(4); }
  bool has_string_val() const { return field(4) != nullptr; }
};

struct TensorList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<Tensor> tensors() const { return vector<Tensor>(4); }
  bool has_tensors() const { return field(4) != nullptr; }
};

// `val` says which of the fields is there. `output` is there and true of an output of the method.
struct Value : flatbuffer::Table {
  using Table::Table;
  ValueType val() const { return scalar<ValueType>(4, ValueType::Null); }
  Tensor tensor() const { return table<Tensor>(6); }
  bool has_tensor() const { return field(6) != nullptr; }
  TensorList tensor_list() const { return table<TensorList>(8); }
  bool has_tensor_list() const { return field(8) != nullptr; }
  Int int_value() const { return table<Int>(10); }
  bool has_int_value() const { return field(10) != nullptr; }
  Float float_value() const { return table<Float>(12); }
  bool has_float_value() const { return field(12) != nullptr; }
  Double double_value() const { return table<Double>(14); }
  bool has_double_value() const { return field(14) != nullptr; }
  Bool bool_value() const { return table<Bool>(16); }
  bool has_bool_value() const { return field(16) != nullptr; }
  Bool output() const { return table<Bool>(18); }
  bool has_output() const { return field(18) != nullptr; }
};

// A value that an instruction, or an operator inside a delegate, computed.
struct DebugEvent : flatbuffer::Table {
  using Table::Table;
  uint64_t chain_index() const { return scalar<uint64_t>(4, 0); }
  int32_t instruction_id() const { return scalar<int32_t>(6, -1); }
  Value debug_entry() const { return table<Value>(8); }
  bool has_debug_entry() const { return field(8) != nullptr; }
  int32_t delegate_debug_id_int() const { return scalar<int32_t>(10, -1); }
  std::string_view delegate_debug_id_str() const { return string(12); }
  bool has_delegate_debug_id_str() const { return field(12) != nullptr; }
  std::string_view name() const { return string(14); }
  bool has_name() const { return field(14) != nullptr; }
};

// `allocator_id` counts the allocators of the run from 1.
struct AllocationEvent : flatbuffer::Table {
  using Table::Table;
  int32_t allocator_id() const { return scalar<int32_t>(4, 0); }
  uint64_t allocation_size() const { return scalar<uint64_t>(6, 0); }
};

// A span of time. An event inside a delegate has one of the delegate's identifiers, which its debug handle map has too.
struct ProfileEvent : flatbuffer::Table {
  using Table::Table;
  std::string_view name() const { return string(4); }
  bool has_name() const { return field(4) != nullptr; }
  int32_t chain_index() const { return scalar<int32_t>(6, 0); }
  int32_t instruction_id() const { return scalar<int32_t>(8, -1); }
  int32_t delegate_debug_id_int() const { return scalar<int32_t>(10, -1); }
  std::string_view delegate_debug_id_str() const { return string(12); }
  bool has_delegate_debug_id_str() const { return field(12) != nullptr; }
  flatbuffer::Vector<uint8_t> delegate_debug_metadata() const { return vector<uint8_t>(14); }
  bool has_delegate_debug_metadata() const { return field(14) != nullptr; }
  uint64_t start_time() const { return scalar<uint64_t>(16, 0); }
  uint64_t end_time() const { return scalar<uint64_t>(18, 0); }
};

// Exactly one of the fields is there.
struct Event : flatbuffer::Table {
  using Table::Table;
  ProfileEvent profile_event() const { return table<ProfileEvent>(4); }
  bool has_profile_event() const { return field(4) != nullptr; }
  AllocationEvent allocation_event() const { return table<AllocationEvent>(6); }
  bool has_allocation_event() const { return field(6) != nullptr; }
  DebugEvent debug_event() const { return table<DebugEvent>(8); }
  bool has_debug_event() const { return field(8) != nullptr; }
};

struct Allocator : flatbuffer::Table {
  using Table::Table;
  std::string_view name() const { return string(4); }
  bool has_name() const { return field(4) != nullptr; }
};

// The events of loading, or of one execution. The last field is Rushlight's own; other readers skip it.
struct RunData : flatbuffer::Table {
  using Table::Table;
  std::string_view name() const { return string(4); }
  bool has_name() const { return field(4) != nullptr; }
  int32_t bundled_input_index() const { return scalar<int32_t>(6, -1); }
  flatbuffer::Vector<Allocator> allocators() const { return vector<Allocator>(8); }
  bool has_allocators() const { return field(8) != nullptr; }
  flatbuffer::Vector<Event> events() const { return vector<Event>(10); }
  bool has_events() const { return field(10) != nullptr; }
  // The name of the method; empty if it is not known.
  std::string_view method() const { return string(12); }
  bool has_method() const { return field(12) != nullptr; }
};

// The last two fields are Rushlight's own; other readers skip them.
struct ETDump : flatbuffer::Table {
  using Table::Table;
  uint32_t version() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<RunData> run_data() const { return vector<RunData>(6); }
  bool has_run_data() const { return field(6) != nullptr; }
  // The number of events that did not fit in the buffer.
  uint64_t dropped_events() const { return scalar<uint64_t>(8, 0); }
  // The number of bytes of the program's tables << 32 | their CRC-32; 0 if the program is not known.
  uint64_t program_fingerprint() const { return scalar<uint64_t>(10, 0); }
};

namespace descriptors {

inline constexpr flatbuffer::Field kTensor[] = {
  {"scalar_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 8, false, 0},
  {"strides", flatbuffer::Kind::Scalars, 8, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kInt[] = {
  {"int_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kBool[] = {
  {"bool_val", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Field kFloat[] = {
  {"float_val", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kDouble[] = {
  {"double_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kString[] = {
  {"string_val", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kTensorList[] = {
  {"tensors", flatbuffer::Kind::Tables, 4, false, 1},
};
inline constexpr flatbuffer::Field kValue[] = {
  {"val", flatbuffer::Kind::Scalar, 1, false, 0},
  {"tensor", flatbuffer::Kind::Table, 4, false, 1},
  {"tensor_list", flatbuffer::Kind::Table, 4, false, 7},
  {"int_value", flatbuffer::Kind::Table, 4, false, 2},
  {"float_value", flatbuffer::Kind::Table, 4, false, 4},
  {"double_value", flatbuffer::Kind::Table, 4, false, 5},
  {"bool_value", flatbuffer::Kind::Table, 4, false, 3},
  {"output", flatbuffer::Kind::Table, 4, false, 3},
};
inline constexpr flatbuffer::Field kDebugEvent[] = {
  {"chain_index", flatbuffer::Kind::Scalar, 8, false, 0},
  {"instruction_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"debug_entry", flatbuffer::Kind::Table, 4, false, 8},
  {"delegate_debug_id_int", flatbuffer::Kind::Scalar, 4, false, 0},
  {"delegate_debug_id_str", flatbuffer::Kind::String, 4, false, 0},
  {"name", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kAllocationEvent[] = {
  {"allocator_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"allocation_size", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kProfileEvent[] = {
  {"name", flatbuffer::Kind::String, 4, false, 0},
  {"chain_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"instruction_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"delegate_debug_id_int", flatbuffer::Kind::Scalar, 4, false, 0},
  {"delegate_debug_id_str", flatbuffer::Kind::String, 4, false, 0},
  {"delegate_debug_metadata", flatbuffer::Kind::Scalars, 1, false, 0},
  {"start_time", flatbuffer::Kind::Scalar, 8, false, 0},
  {"end_time", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kEvent[] = {
  {"profile_event", flatbuffer::Kind::Table, 4, false, 11},
  {"allocation_event", flatbuffer::Kind::Table, 4, false, 10},
  {"debug_event", flatbuffer::Kind::Table, 4, false, 9},
};
inline constexpr flatbuffer::Field kAllocator[] = {
  {"name", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kRunData[] = {
  {"name", flatbuffer::Kind::String, 4, false, 0},
  {"bundled_input_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"allocators", flatbuffer::Kind::Tables, 4, false, 13},
  {"events", flatbuffer::Kind::Tables, 4, false, 12},
  {"method", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kETDump[] = {
  {"version", flatbuffer::Kind::Scalar, 4, false, 0},
  {"run_data", flatbuffer::Kind::Tables, 4, false, 14},
  {"dropped_events", flatbuffer::Kind::Scalar, 8, false, 0},
  {"program_fingerprint", flatbuffer::Kind::Scalar, 8, false, 0},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"Null", nullptr, 0, nullptr, 0},
  {"Tensor", kTensor, 4, nullptr, 0},
  {"Int", kInt, 1, nullptr, 0},
  {"Bool", kBool, 1, nullptr, 0},
  {"Float", kFloat, 1, nullptr, 0},
  {"Double", kDouble, 1, nullptr, 0},
  {"String", kString, 1, nullptr, 0},
  {"TensorList", kTensorList, 1, nullptr, 0},
  {"Value", kValue, 8, nullptr, 0},
  {"DebugEvent", kDebugEvent, 6, nullptr, 0},
  {"AllocationEvent", kAllocationEvent, 2, nullptr, 0},
  {"ProfileEvent", kProfileEvent, 8, nullptr, 0},
  {"Event", kEvent, 3, nullptr, 0},
  {"Allocator", kAllocator, 1, nullptr, 0},
  {"RunData", kRunData, 5, nullptr, 0},
  {"ETDump", kETDump, 4, nullptr, 0},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kETDumpSchema = {descriptors::kTables, nullptr, 15, 7, "ED00"};

}  // namespace rushlight::schema::etdump
