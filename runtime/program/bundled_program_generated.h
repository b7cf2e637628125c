// Generated from schema/bundled_program.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"
#include "program/schema_generated.h"

namespace rushlight::schema::bundled_program {

enum class ValueUnion : uint8_t {
  NONE = 0,
  Tensor = 1,
  Int = 2,
  Bool = 3,
  Double = 4,
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

// `data` has the elements in the order of `dim_order`, which lists the dimensions from outermost to innermost.
struct Tensor : flatbuffer::Table {
  using Table::Table;
  ::rushlight::schema::ScalarType scalar_type() const { return scalar<::rushlight::schema::ScalarType>(4, ::rushlight::schema::ScalarType::BYTE); }
  flatbuffer::Vector<int32_t> sizes() const { return vector<int32_t>(6); }
  bool has_sizes() const { return field(6) != nullptr; }
  flatbuffer::Vector<uint8_t> data() const { return vector<uint8_t>(8); }
  bool has_data() const { return field(8) != nullptr; }
  flatbuffer::Vector<uint8_t> dim_order() const { return vector<uint8_t>(10); }
  bool has_dim_order() const { return field(10) != nullptr; }
};

struct Value : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table val() const { return table<flatbuffer::Table>(6); }
  ValueUnion val_type() const { return scalar<ValueUnion>(4, ValueUnion::NONE); }
  // The result is absent if val_type() is another type.
  Tensor val_as_Tensor() const { return Tensor(member(4, static_cast<uint8_t>(ValueUnion::Tensor))); }
  Int val_as_Int() const { return Int(member(4, static_cast<uint8_t>(ValueUnion::Int))); }
  Bool val_as_Bool() const { return Bool(member(4, static_cast<uint8_t>(ValueUnion::Bool))); }
  Double val_as_Double() const { return Double(member(4, static_cast<uint8_t>(ValueUnion::Double))); }
};

// Without expected outputs the case only says inputs.
struct BundledMethodTestCase : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<Value> inputs() const { return vector<Value>(4); }
  bool has_inputs() const { return field(4) != nullptr; }
  flatbuffer::Vector<Value> expected_outputs() const { return vector<Value>(6); }
  bool has_expected_outputs() const { return field(6) != nullptr; }
};

struct BundledMethodTestSuite : flatbuffer::Table {
  using Table::Table;
  std::string_view method_name() const { return string(4); }
  bool has_method_name() const { return field(4) != nullptr; }
  flatbuffer::Vector<BundledMethodTestCase> test_cases() const { return vector<BundledMethodTestCase>(6); }
  bool has_test_cases() const { return field(6) != nullptr; }
};

// `program` is a whole .pte file.
struct BundledProgram : flatbuffer::Table {
  using Table::Table;
  uint32_t version() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<BundledMethodTestSuite> method_test_suites() const { return vector<BundledMethodTestSuite>(6); }
  bool has_method_test_suites() const { return field(6) != nullptr; }
  flatbuffer::Vector<uint8_t> program() const { return vector<uint8_t>(8); }
  bool has_program() const { return field(8) != nullptr; }
};

namespace descriptors {

inline constexpr flatbuffer::Field kInt[] = {
  {"int_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kBool[] = {
  {"bool_val", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Field kDouble[] = {
  {"double_val", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kTensor[] = {
  {"scalar_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"data", flatbuffer::Kind::Scalars, 1, false, 0},
  {"dim_order", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kValue[] = {
  {"val_type", flatbuffer::Kind::UnionTag, 1, false, 0},
  {"val", flatbuffer::Kind::Union, 4, false, 0},
};
inline constexpr flatbuffer::Field kBundledMethodTestCase[] = {
  {"inputs", flatbuffer::Kind::Tables, 4, false, 4},
  {"expected_outputs", flatbuffer::Kind::Tables, 4, false, 4},
};
inline constexpr flatbuffer::Field kBundledMethodTestSuite[] = {
  {"method_name", flatbuffer::Kind::String, 4, false, 0},
  {"test_cases", flatbuffer::Kind::Tables, 4, false, 5},
};
inline constexpr flatbuffer::Field kBundledProgram[] = {
  {"version", flatbuffer::Kind::Scalar, 4, false, 0},
  {"method_test_suites", flatbuffer::Kind::Tables, 4, false, 6},
  {"program", flatbuffer::Kind::Scalars, 1, false, 0},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"Int", kInt, 1, nullptr, 0},
  {"Bool", kBool, 1, nullptr, 0},
  {"Double", kDouble, 1, nullptr, 0},
  {"Tensor", kTensor, 4, nullptr, 0},
  {"Value", kValue, 2, nullptr, 0},
  {"BundledMethodTestCase", kBundledMethodTestCase, 2, nullptr, 0},
  {"BundledMethodTestSuite", kBundledMethodTestSuite, 2, nullptr, 0},
  {"BundledProgram", kBundledProgram, 3, nullptr, 0},
};

inline constexpr uint16_t kValueUnionMembers[] = {3, 0, 1, 2};

inline constexpr flatbuffer::UnionInfo kUnions[] = {
  {"ValueUnion", kValueUnionMembers, 4},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kBundledProgramSchema = {descriptors::kTables, descriptors::kUnions, 7, 5, "BP08"};

}  // namespace rushlight::schema::bundled_program
