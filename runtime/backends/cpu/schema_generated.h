// Generated from schema/cpu_plan.fbs by `python -m rushlight.format.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"

namespace rushlight::cpu::schema {

enum class StorageKind : int8_t {
  ARENA = 0,
  ARGUMENT = 1,
  CONSTANT = 2,
  STATE = 3,
};

struct Expression : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int64_t> code() const { return vector<int64_t>(4); }
  bool has_code() const { return field(4) != nullptr; }
};

struct Symbol : flatbuffer::Table {
  using Table::Table;
  uint32_t argument() const { return scalar<uint32_t>(4, 0); }
  int32_t axis() const { return scalar<int32_t>(6, 0); }
  int64_t factor() const { return scalar<int64_t>(8, 0); }
  int64_t shift() const { return scalar<int64_t>(10, 0); }
  int64_t lower() const { return scalar<int64_t>(12, 0); }
  int64_t upper() const { return scalar<int64_t>(14, 0); }
};

struct Storage : flatbuffer::Table {
  using Table::Table;
  StorageKind kind() const { return scalar<StorageKind>(4, StorageKind::ARENA); }
  uint64_t bytes() const { return scalar<uint64_t>(6, 0); }
  uint64_t offset() const { return scalar<uint64_t>(8, 0); }
  uint32_t index() const { return scalar<uint32_t>(10, 0); }
  std::string_view name() const { return string(12); }
  bool has_name() const { return field(12) != nullptr; }
};

struct Value : flatbuffer::Table {
  using Table::Table;
  uint32_t storage() const { return scalar<uint32_t>(4, 0); }
  int8_t dtype() const { return scalar<int8_t>(6, 0); }
  uint32_t offset() const { return scalar<uint32_t>(8, 0); }
  flatbuffer::Vector<uint32_t> sizes() const { return vector<uint32_t>(10); }
  bool has_sizes() const { return field(10) != nullptr; }
  flatbuffer::Vector<uint32_t> strides() const { return vector<uint32_t>(12); }
  bool has_strides() const { return field(12) != nullptr; }
};

struct Argument : flatbuffer::Table {
  using Table::Table;
  uint32_t value() const { return scalar<uint32_t>(4, 0); }
  bool is_output() const { return scalar<bool>(6, false); }
};

struct Step : flatbuffer::Table {
  using Table::Table;
  uint16_t kind() const { return scalar<uint16_t>(4, 0); }
  flatbuffer::Vector<uint32_t> values() const { return vector<uint32_t>(6); }
  bool has_values() const { return field(6) != nullptr; }
  flatbuffer::Vector<int64_t> ints() const { return vector<int64_t>(8); }
  bool has_ints() const { return field(8) != nullptr; }
  flatbuffer::Vector<float> floats() const { return vector<float>(10); }
  bool has_floats() const { return field(10) != nullptr; }
  uint32_t debug_handle() const { return scalar<uint32_t>(12, 0); }
};

struct Plan : flatbuffer::Table {
  using Table::Table;
  uint32_t version() const { return scalar<uint32_t>(4, 0); }
  std::string_view target() const { return string(6); }
  bool has_target() const { return field(6) != nullptr; }
  uint32_t vector_floats() const { return scalar<uint32_t>(8, 0); }
  uint32_t panel_floats() const { return scalar<uint32_t>(10, 0); }
  flatbuffer::Vector<Expression> expressions() const { return vector<Expression>(12); }
  bool has_expressions() const { return field(12) != nullptr; }
  flatbuffer::Vector<Symbol> symbols() const { return vector<Symbol>(14); }
  bool has_symbols() const { return field(14) != nullptr; }
  flatbuffer::Vector<Storage> storages() const { return vector<Storage>(16); }
  bool has_storages() const { return field(16) != nullptr; }
  flatbuffer::Vector<Value> values() const { return vector<Value>(18); }
  bool has_values() const { return field(18) != nullptr; }
  flatbuffer::Vector<Argument> arguments() const { return vector<Argument>(20); }
  bool has_arguments() const { return field(20) != nullptr; }
  flatbuffer::Vector<Step> steps() const { return vector<Step>(22); }
  bool has_steps() const { return field(22) != nullptr; }
  uint64_t arena_bytes() const { return scalar<uint64_t>(24, 0); }
};

namespace descriptors {

inline constexpr flatbuffer::Field kExpression[] = {
  {"code", flatbuffer::Kind::Scalars, 8, false, 0},
};
inline constexpr flatbuffer::Field kSymbol[] = {
  {"argument", flatbuffer::Kind::Scalar, 4, false, 0},
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
  {"factor", flatbuffer::Kind::Scalar, 8, false, 0},
  {"shift", flatbuffer::Kind::Scalar, 8, false, 0},
  {"lower", flatbuffer::Kind::Scalar, 8, false, 0},
  {"upper", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kStorage[] = {
  {"kind", flatbuffer::Kind::Scalar, 1, false, 0},
  {"bytes", flatbuffer::Kind::Scalar, 8, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
  {"index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"name", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kValue[] = {
  {"storage", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dtype", flatbuffer::Kind::Scalar, 1, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"strides", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kArgument[] = {
  {"value", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_output", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Field kStep[] = {
  {"kind", flatbuffer::Kind::Scalar, 2, false, 0},
  {"values", flatbuffer::Kind::Scalars, 4, false, 0},
  {"ints", flatbuffer::Kind::Scalars, 8, false, 0},
  {"floats", flatbuffer::Kind::Scalars, 4, false, 0},
  {"debug_handle", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPlan[] = {
  {"version", flatbuffer::Kind::Scalar, 4, false, 0},
  {"target", flatbuffer::Kind::String, 4, false, 0},
  {"vector_floats", flatbuffer::Kind::Scalar, 4, false, 0},
  {"panel_floats", flatbuffer::Kind::Scalar, 4, false, 0},
  {"expressions", flatbuffer::Kind::Tables, 4, false, 0},
  {"symbols", flatbuffer::Kind::Tables, 4, false, 1},
  {"storages", flatbuffer::Kind::Tables, 4, false, 2},
  {"values", flatbuffer::Kind::Tables, 4, false, 3},
  {"arguments", flatbuffer::Kind::Tables, 4, false, 4},
  {"steps", flatbuffer::Kind::Tables, 4, false, 5},
  {"arena_bytes", flatbuffer::Kind::Scalar, 8, false, 0},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"Expression", kExpression, 1},
  {"Symbol", kSymbol, 6},
  {"Storage", kStorage, 5},
  {"Value", kValue, 5},
  {"Argument", kArgument, 2},
  {"Step", kStep, 5},
  {"Plan", kPlan, 11},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kPlanSchema = {descriptors::kTables, nullptr, 6, 2, "RCP1"};

}  // namespace rushlight::cpu::schema
