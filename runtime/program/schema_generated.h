// Generated from schema/program.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"

namespace rushlight::schema {

enum class ScalarType : int8_t {
  BYTE = 0,
  CHAR = 1,
  SHORT = 2,
  INT = 3,
  LONG = 4,
  HALF = 5,
  FLOAT = 6,
  DOUBLE = 7,
  COMPLEX32 = 8,
  COMPLEX64 = 9,
  COMPLEX128 = 10,
  BOOL = 11,
  QINT8 = 12,
  QUINT8 = 13,
  QINT32 = 14,
  BFLOAT16 = 15,
  QUINT4x2 = 16,
  QUINT2x4 = 17,
  BITS16 = 22,
  FLOAT8E5M2 = 23,
  FLOAT8E4M3FN = 24,
  FLOAT8E5M2FNUZ = 25,
  FLOAT8E4M3FNUZ = 26,
  UINT16 = 27,
  UINT32 = 28,
  UINT64 = 29,
};

enum class TensorShapeDynamism : int8_t {
  STATIC = 0,
  DYNAMIC_BOUND = 1,
  DYNAMIC_UNBOUND = 2,
};

enum class TensorDataLocation : int8_t {
  SEGMENT = 0,
  EXTERNAL = 1,
};

enum class DeviceType : int8_t {
  CPU = 0,
  CUDA = 1,
};

enum class DataLocation : int8_t {
  INLINE = 0,
  SEGMENT = 1,
};

enum class KernelTypes : uint8_t {
  NONE = 0,
  Null = 1,
  Int = 2,
  Bool = 3,
  Double = 4,
  Tensor = 5,
  String = 6,
  IntList = 7,
  DoubleList = 8,
  BoolList = 9,
  TensorList = 10,
  OptionalTensorList = 11,
};

enum class InstructionArguments : uint8_t {
  NONE = 0,
  KernelCall = 1,
  DelegateCall = 2,
  MoveCall = 3,
  JumpFalseCall = 4,
  FreeCall = 5,
};

struct ContainerMetadata : flatbuffer::Table {
  using Table::Table;
  std::string_view encoded_inp_str() const { return string(4); }
  bool has_encoded_inp_str() const { return field(4) != nullptr; }
  std::string_view encoded_out_str() const { return string(6); }
  bool has_encoded_out_str() const { return field(6) != nullptr; }
};

struct AllocationDetails : flatbuffer::Table {
  using Table::Table;
  uint32_t memory_id() const { return scalar<uint32_t>(4, 0); }
  uint32_t memory_offset_low() const { return scalar<uint32_t>(6, 0); }
  uint32_t memory_offset_high() const { return scalar<uint32_t>(8, 0); }
};

struct ExtraTensorInfo : flatbuffer::Table {
  using Table::Table;
  uint64_t mutable_data_segments_idx() const { return scalar<uint64_t>(4, 0); }
  std::string_view fully_qualified_name() const { return string(6); }
  bool has_fully_qualified_name() const { return field(6) != nullptr; }
  TensorDataLocation location() const { return scalar<TensorDataLocation>(8, TensorDataLocation::SEGMENT); }
  DeviceType device_type() const { return scalar<DeviceType>(10, DeviceType::CPU); }
  int8_t device_index() const { return scalar<int8_t>(12, 0); }
};

struct Tensor : flatbuffer::Table {
  using Table::Table;
  ScalarType scalar_type() const { return scalar<ScalarType>(4, ScalarType::BYTE); }
  int32_t storage_offset() const { return scalar<int32_t>(6, 0); }
  flatbuffer::Vector<int32_t> sizes() const { return vector<int32_t>(8); }
  bool has_sizes() const { return field(8) != nullptr; }
  flatbuffer::Vector<uint8_t> dim_order() const { return vector<uint8_t>(10); }
  bool has_dim_order() const { return field(10) != nullptr; }
  bool requires_grad() const { return scalar<bool>(12, false); }
  uint32_t data_buffer_idx() const { return scalar<uint32_t>(14, 0); }
  AllocationDetails allocation_info() const { return table<AllocationDetails>(16); }
  bool has_allocation_info() const { return field(16) != nullptr; }
  int8_t layout() const { return scalar<int8_t>(18, 0); }
  TensorShapeDynamism shape_dynamism() const { return scalar<TensorShapeDynamism>(20, TensorShapeDynamism::STATIC); }
  ExtraTensorInfo extra_tensor_info() const { return table<ExtraTensorInfo>(22); }
  bool has_extra_tensor_info() const { return field(22) != nullptr; }
};

struct Null : flatbuffer::Table {
  using Table::Table;
};

struct Int : flatbuffer::Table {
  using Table::Table;
  int64_t int_val() const { return scalar<int64_t>(4, 0); }
};

struct Bool : flatbuffer::Table {
  using Table::Table;
  bool bool_val() const { return scalar<bool>(4, false); }
};

struct Double : flatbuffer::Table {
  using Table::Table;
  double double_val() const { return scalar<double>(4, 0.0); }
};

struct String : flatbuffer::Table {
  using Table::Table;
  std::string_view string_val() const { return string(4); }
};

struct IntList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int64_t> items() const { return vector<int64_t>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct DoubleList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<double> items() const { return vector<double>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct BoolList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<bool> items() const { return vector<bool>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct TensorList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int32_t> items() const { return vector<int32_t>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct OptionalTensorList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int32_t> items() const { return vector<int32_t>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct EValue : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table val() const { return table<flatbuffer::Table>(6); }
  KernelTypes val_type() const { return scalar<KernelTypes>(4, KernelTypes::NONE); }
  // The result is absent if val_type() is another type.
  Null val_as_Null() const { return Null(member(4, static_cast<uint8_t>(KernelTypes::Null))); }
  Int val_as_Int() const { return Int(member(4, static_cast<uint8_t>(KernelTypes::Int))); }
  Bool val_as_Bool() const { return Bool(member(4, static_cast<uint8_t>(KernelTypes::Bool))); }
  Double val_as_Double() const { return Double(member(4, static_cast<uint8_t>(KernelTypes::Double))); }
  Tensor val_as_Tensor() const { return Tensor(member(4, static_cast<uint8_t>(KernelTypes::Tensor))); }
  String val_as_String() const { return String(member(4, static_cast<uint8_t>(KernelTypes::String))); }
  IntList val_as_IntList() const { return IntList(member(4, static_cast<uint8_t>(KernelTypes::IntList))); }
  DoubleList val_as_DoubleList() const { return DoubleList(member(4, static_cast<uint8_t>(KernelTypes::DoubleList))); }
  BoolList val_as_BoolList() const { return BoolList(member(4, static_cast<uint8_t>(KernelTypes::BoolList))); }
  TensorList val_as_TensorList() const { return TensorList(member(4, static_cast<uint8_t>(KernelTypes::TensorList))); }
  OptionalTensorList val_as_OptionalTensorList() const { return OptionalTensorList(member(4, static_cast<uint8_t>(KernelTypes::OptionalTensorList))); }
};

struct Operator : flatbuffer::Table {
  using Table::Table;
  std::string_view name() const { return string(4); }
  std::string_view overload() const { return string(6); }
  bool has_overload() const { return field(6) != nullptr; }
};

struct KernelCall : flatbuffer::Table {
  using Table::Table;
  int32_t op_index() const { return scalar<int32_t>(4, 0); }
  flatbuffer::Vector<int32_t> args() const { return vector<int32_t>(6); }
  bool has_args() const { return field(6) != nullptr; }
};

struct DelegateCall : flatbuffer::Table {
  using Table::Table;
  int32_t delegate_index() const { return scalar<int32_t>(4, 0); }
  flatbuffer::Vector<int32_t> args() const { return vector<int32_t>(6); }
  bool has_args() const { return field(6) != nullptr; }
};

struct MoveCall : flatbuffer::Table {
  using Table::Table;
  int32_t move_from() const { return scalar<int32_t>(4, 0); }
  int32_t move_to() const { return scalar<int32_t>(6, 0); }
};

struct JumpFalseCall : flatbuffer::Table {
  using Table::Table;
  int32_t cond_value_index() const { return scalar<int32_t>(4, 0); }
  int32_t destination_instruction() const { return scalar<int32_t>(6, 0); }
};

struct FreeCall : flatbuffer::Table {
  using Table::Table;
  int32_t value_index() const { return scalar<int32_t>(4, 0); }
};

struct Instruction : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table instr_args() const { return table<flatbuffer::Table>(6); }
  InstructionArguments instr_args_type() const { return scalar<InstructionArguments>(4, InstructionArguments::NONE); }
  // The result is absent if instr_args_type() is another type.
  KernelCall instr_args_as_KernelCall() const { return KernelCall(member(4, static_cast<uint8_t>(InstructionArguments::KernelCall))); }
  DelegateCall instr_args_as_DelegateCall() const { return DelegateCall(member(4, static_cast<uint8_t>(InstructionArguments::DelegateCall))); }
  MoveCall instr_args_as_MoveCall() const { return MoveCall(member(4, static_cast<uint8_t>(InstructionArguments::MoveCall))); }
  JumpFalseCall instr_args_as_JumpFalseCall() const { return JumpFalseCall(member(4, static_cast<uint8_t>(InstructionArguments::JumpFalseCall))); }
  FreeCall instr_args_as_FreeCall() const { return FreeCall(member(4, static_cast<uint8_t>(InstructionArguments::FreeCall))); }
};

struct Frame : flatbuffer::Table {
  using Table::Table;
  std::string_view filename() const { return string(4); }
  bool has_filename() const { return field(4) != nullptr; }
  int32_t lineno() const { return scalar<int32_t>(6, 0); }
  std::string_view name() const { return string(8); }
  bool has_name() const { return field(8) != nullptr; }
  std::string_view context() const { return string(10); }
  bool has_context() const { return field(10) != nullptr; }
};

struct FrameList : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<Frame> items() const { return vector<Frame>(4); }
  bool has_items() const { return field(4) != nullptr; }
};

struct BackendDelegateDataReference : flatbuffer::Table {
  using Table::Table;
  DataLocation location() const { return scalar<DataLocation>(4, DataLocation::INLINE); }
  uint32_t index() const { return scalar<uint32_t>(6, 0); }
};

struct CompileSpec : flatbuffer::Table {
  using Table::Table;
  std::string_view key() const { return string(4); }
  flatbuffer::Vector<uint8_t> value() const { return vector<uint8_t>(6); }
  bool has_value() const { return field(6) != nullptr; }
};

struct BackendDelegate : flatbuffer::Table {
  using Table::Table;
  std::string_view id() const { return string(4); }
  BackendDelegateDataReference processed() const { return table<BackendDelegateDataReference>(6); }
  flatbuffer::Vector<CompileSpec> compile_specs() const { return vector<CompileSpec>(8); }
  bool has_compile_specs() const { return field(8) != nullptr; }
};

struct Chain : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int32_t> inputs() const { return vector<int32_t>(4); }
  bool has_inputs() const { return field(4) != nullptr; }
  flatbuffer::Vector<int32_t> outputs() const { return vector<int32_t>(6); }
  bool has_outputs() const { return field(6) != nullptr; }
  flatbuffer::Vector<Instruction> instructions() const { return vector<Instruction>(8); }
  bool has_instructions() const { return field(8) != nullptr; }
  flatbuffer::Vector<FrameList> stacktrace() const { return vector<FrameList>(10); }
  bool has_stacktrace() const { return field(10) != nullptr; }
};

struct NonConstBufferDevice : flatbuffer::Table {
  using Table::Table;
  int32_t buffer_idx() const { return scalar<int32_t>(4, 0); }
  DeviceType device_type() const { return scalar<DeviceType>(6, DeviceType::CPU); }
  int8_t device_index() const { return scalar<int8_t>(8, 0); }
};

struct ExecutionPlan : flatbuffer::Table {
  using Table::Table;
  std::string_view name() const { return string(4); }
  ContainerMetadata container_meta_type() const { return table<ContainerMetadata>(6); }
  bool has_container_meta_type() const { return field(6) != nullptr; }
  flatbuffer::Vector<EValue> values() const { return vector<EValue>(8); }
  bool has_values() const { return field(8) != nullptr; }
  flatbuffer::Vector<int32_t> inputs() const { return vector<int32_t>(10); }
  bool has_inputs() const { return field(10) != nullptr; }
  flatbuffer::Vector<int32_t> outputs() const { return vector<int32_t>(12); }
  bool has_outputs() const { return field(12) != nullptr; }
  flatbuffer::Vector<Chain> chains() const { return vector<Chain>(14); }
  bool has_chains() const { return field(14) != nullptr; }
  flatbuffer::Vector<Operator> operators() const { return vector<Operator>(16); }
  bool has_operators() const { return field(16) != nullptr; }
  flatbuffer::Vector<BackendDelegate> delegates() const { return vector<BackendDelegate>(18); }
  bool has_delegates() const { return field(18) != nullptr; }
  flatbuffer::Vector<int64_t> non_const_buffer_sizes() const { return vector<int64_t>(20); }
  bool has_non_const_buffer_sizes() const { return field(20) != nullptr; }
  flatbuffer::Vector<NonConstBufferDevice> non_const_buffer_device() const { return vector<NonConstBufferDevice>(22); }
  bool has_non_const_buffer_device() const { return field(22) != nullptr; }
};

struct Buffer : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<uint8_t> storage() const { return vector<uint8_t>(4); }
  bool has_storage() const { return field(4) != nullptr; }
};

struct BackendDelegateInlineData : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<uint8_t> data() const { return vector<uint8_t>(4); }
  bool has_data() const { return field(4) != nullptr; }
};

struct DataSegment : flatbuffer::Table {
  using Table::Table;
  uint64_t offset() const { return scalar<uint64_t>(4, 0); }
  uint64_t size() const { return scalar<uint64_t>(6, 0); }
};

struct SubsegmentOffsets : flatbuffer::Table {
  using Table::Table;
  uint32_t segment_index() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<uint64_t> offsets() const { return vector<uint64_t>(6); }
  bool has_offsets() const { return field(6) != nullptr; }
};

struct NamedData : flatbuffer::Table {
  using Table::Table;
  std::string_view key() const { return string(4); }
  uint32_t segment_index() const { return scalar<uint32_t>(6, 0); }
};

struct Program : flatbuffer::Table {
  using Table::Table;
  uint32_t version() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<ExecutionPlan> execution_plan() const { return vector<ExecutionPlan>(6); }
  bool has_execution_plan() const { return field(6) != nullptr; }
  flatbuffer::Vector<Buffer> constant_buffer() const { return vector<Buffer>(8); }
  bool has_constant_buffer() const { return field(8) != nullptr; }
  flatbuffer::Vector<BackendDelegateInlineData> backend_delegate_data() const { return vector<BackendDelegateInlineData>(10); }
  bool has_backend_delegate_data() const { return field(10) != nullptr; }
  flatbuffer::Vector<DataSegment> segments() const { return vector<DataSegment>(12); }
  bool has_segments() const { return field(12) != nullptr; }
  SubsegmentOffsets constant_segment() const { return table<SubsegmentOffsets>(14); }
  bool has_constant_segment() const { return field(14) != nullptr; }
  flatbuffer::Vector<SubsegmentOffsets> mutable_data_segments() const { return vector<SubsegmentOffsets>(16); }
  bool has_mutable_data_segments() const { return field(16) != nullptr; }
  flatbuffer::Vector<NamedData> named_data() const { return vector<NamedData>(18); }
  bool has_named_data() const { return field(18) != nullptr; }
};

namespace descriptors {

inline constexpr flatbuffer::Field kContainerMetadata[] = {
  {"encoded_inp_str", flatbuffer::Kind::String, 4, false, 0},
  {"encoded_out_str", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kAllocationDetails[] = {
  {"memory_id", flatbuffer::Kind::Scalar, 4, false, 0},
  {"memory_offset_low", flatbuffer::Kind::Scalar, 4, false, 0},
  {"memory_offset_high", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kExtraTensorInfo[] = {
  {"mutable_data_segments_idx", flatbuffer::Kind::Scalar, 8, false, 0},
  {"fully_qualified_name", flatbuffer::Kind::String, 4, false, 0},
  {"location", flatbuffer::Kind::Scalar, 1, false, 0},
  {"device_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"device_index", flatbuffer::Kind::Scalar, 1, false, 0},
};
inline constexpr flatbuffer::Field kTensor[] = {
  {"scalar_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"storage_offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"dim_order", flatbuffer::Kind::Scalars, 1, false, 0},
  {"requires_grad", flatbuffer::Kind::Bool, 1, false, 0},
  {"data_buffer_idx", flatbuffer::Kind::Scalar, 4, false, 0},
  {"allocation_info", flatbuffer::Kind::Table, 4, false, 1},
  {"layout", flatbuffer::Kind::Scalar, 1, false, 0},
  {"shape_dynamism", flatbuffer::Kind::Scalar, 1, false, 0},
  {"extra_tensor_info", flatbuffer::Kind::Table, 4, false, 2},
};
inline constexpr flatbuffer::Field kInt[] = {
  {"int_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kBool[] = {
  {"bool_val", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Field kDouble[] = {
  {"double_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kString[] = {
  {"string_val", flatbuffer::Kind::String, 4, true, 0},
};
inline constexpr flatbuffer::Field kIntList[] = {
  {"items", flatbuffer::Kind::Scalars, 8, false, 0},
};
inline constexpr flatbuffer::Field kDoubleList[] = {
  {"items", flatbuffer::Kind::Scalars, 8, false, 0},
};
inline constexpr flatbuffer::Field kBoolList[] = {
  {"items", flatbuffer::Kind::Bools, 1, false, 0},
};
inline constexpr flatbuffer::Field kTensorList[] = {
  {"items", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kOptionalTensorList[] = {
  {"items", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kEValue[] = {
  {"val_type", flatbuffer::Kind::UnionTag, 1, true, 0},
  {"val", flatbuffer::Kind::Union, 4, true, 0},
};
inline constexpr flatbuffer::Field kOperator[] = {
  {"name", flatbuffer::Kind::String, 4, true, 0},
  {"overload", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kKernelCall[] = {
  {"op_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"args", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kDelegateCall[] = {
  {"delegate_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"args", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kMoveCall[] = {
  {"move_from", flatbuffer::Kind::Scalar, 4, false, 0},
  {"move_to", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kJumpFalseCall[] = {
  {"cond_value_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"destination_instruction", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kFreeCall[] = {
  {"value_index", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kInstruction[] = {
  {"instr_args_type", flatbuffer::Kind::UnionTag, 1, true, 1},
  {"instr_args", flatbuffer::Kind::Union, 4, true, 1},
};
inline constexpr flatbuffer::Field kFrame[] = {
  {"filename", flatbuffer::Kind::String, 4, false, 0},
  {"lineno", flatbuffer::Kind::Scalar, 4, false, 0},
  {"name", flatbuffer::Kind::String, 4, false, 0},
  {"context", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kFrameList[] = {
  {"items", flatbuffer::Kind::Tables, 4, false, 22},
};
inline constexpr flatbuffer::Field kBackendDelegateDataReference[] = {
  {"location", flatbuffer::Kind::Scalar, 1, false, 0},
  {"index", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kCompileSpec[] = {
  {"key", flatbuffer::Kind::String, 4, true, 0},
  {"value", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kBackendDelegate[] = {
  {"id", flatbuffer::Kind::String, 4, true, 0},
  {"processed", flatbuffer::Kind::Table, 4, true, 24},
  {"compile_specs", flatbuffer::Kind::Tables, 4, false, 25},
};
inline constexpr flatbuffer::Field kChain[] = {
  {"inputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"instructions", flatbuffer::Kind::Tables, 4, false, 21},
  {"stacktrace", flatbuffer::Kind::Tables, 4, false, 23},
};
inline constexpr flatbuffer::Field kNonConstBufferDevice[] = {
  {"buffer_idx", flatbuffer::Kind::Scalar, 4, false, 0},
  {"device_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"device_index", flatbuffer::Kind::Scalar, 1, false, 0},
};
inline constexpr flatbuffer::Field kExecutionPlan[] = {
  {"name", flatbuffer::Kind::String, 4, true, 0},
  {"container_meta_type", flatbuffer::Kind::Table, 4, false, 0},
  {"values", flatbuffer::Kind::Tables, 4, false, 14},
  {"inputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"chains", flatbuffer::Kind::Tables, 4, false, 27},
  {"operators", flatbuffer::Kind::Tables, 4, false, 15},
  {"delegates", flatbuffer::Kind::Tables, 4, false, 26},
  {"non_const_buffer_sizes", flatbuffer::Kind::Scalars, 8, false, 0},
  {"non_const_buffer_device", flatbuffer::Kind::Tables, 4, false, 28},
};
inline constexpr flatbuffer::Field kBuffer[] = {
  {"storage", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kBackendDelegateInlineData[] = {
  {"data", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kDataSegment[] = {
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
  {"size", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kSubsegmentOffsets[] = {
  {"segment_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"offsets", flatbuffer::Kind::Scalars, 8, false, 0},
};
inline constexpr flatbuffer::Field kNamedData[] = {
  {"key", flatbuffer::Kind::String, 4, true, 0},
  {"segment_index", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kProgram[] = {
  {"version", flatbuffer::Kind::Scalar, 4, false, 0},
  {"execution_plan", flatbuffer::Kind::Tables, 4, false, 29},
  {"constant_buffer", flatbuffer::Kind::Tables, 4, false, 30},
  {"backend_delegate_data", flatbuffer::Kind::Tables, 4, false, 31},
  {"segments", flatbuffer::Kind::Tables, 4, false, 32},
  {"constant_segment", flatbuffer::Kind::Table, 4, false, 33},
  {"mutable_data_segments", flatbuffer::Kind::Tables, 4, false, 33},
  {"named_data", flatbuffer::Kind::Tables, 4, false, 34},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"ContainerMetadata", kContainerMetadata, 2, nullptr, 0},
  {"AllocationDetails", kAllocationDetails, 3, nullptr, 0},
  {"ExtraTensorInfo", kExtraTensorInfo, 5, nullptr, 0},
  {"Tensor", kTensor, 10, nullptr, 0},
  {"Null", nullptr, 0, nullptr, 0},
  {"Int", kInt, 1, nullptr, 0},
  {"Bool", kBool, 1, nullptr, 0},
  {"Double", kDouble, 1, nullptr, 0},
  {"String", kString, 1, nullptr, 0},
  {"IntList", kIntList, 1, nullptr, 0},
  {"DoubleList", kDoubleList, 1, nullptr, 0},
  {"BoolList", kBoolList, 1, nullptr, 0},
  {"TensorList", kTensorList, 1, nullptr, 0},
  {"OptionalTensorList", kOptionalTensorList, 1, nullptr, 0},
  {"EValue", kEValue, 2, nullptr, 0},
  {"Operator", kOperator, 2, nullptr, 0},
  {"KernelCall", kKernelCall, 2, nullptr, 0},
  {"DelegateCall", kDelegateCall, 2, nullptr, 0},
  {"MoveCall", kMoveCall, 2, nullptr, 0},
  {"JumpFalseCall", kJumpFalseCall, 2, nullptr, 0},
  {"FreeCall", kFreeCall, 1, nullptr, 0},
  {"Instruction", kInstruction, 2, nullptr, 0},
  {"Frame", kFrame, 4, nullptr, 0},
  {"FrameList", kFrameList, 1, nullptr, 0},
  {"BackendDelegateDataReference", kBackendDelegateDataReference, 2, nullptr, 0},
  {"CompileSpec", kCompileSpec, 2, nullptr, 0},
  {"BackendDelegate", kBackendDelegate, 3, nullptr, 0},
  {"Chain", kChain, 4, nullptr, 0},
  {"NonConstBufferDevice", kNonConstBufferDevice, 3, nullptr, 0},
  {"ExecutionPlan", kExecutionPlan, 10, nullptr, 0},
  {"Buffer", kBuffer, 1, nullptr, 0},
  {"BackendDelegateInlineData", kBackendDelegateInlineData, 1, nullptr, 0},
  {"DataSegment", kDataSegment, 2, nullptr, 0},
  {"SubsegmentOffsets", kSubsegmentOffsets, 2, nullptr, 0},
  {"NamedData", kNamedData, 2, nullptr, 0},
  {"Program", kProgram, 8, nullptr, 0},
};

inline constexpr uint16_t kKernelTypesMembers[] = {4, 5, 6, 7, 3, 8, 9, 10, 11, 12, 13};
inline constexpr uint16_t kInstructionArgumentsMembers[] = {16, 17, 18, 19, 20};

inline constexpr flatbuffer::UnionInfo kUnions[] = {
  {"KernelTypes", kKernelTypesMembers, 11},
  {"InstructionArguments", kInstructionArgumentsMembers, 5},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kProgramSchema = {descriptors::kTables, descriptors::kUnions, 35, 5, "ET12"};

}  // namespace rushlight::schema
