// Generated from schema/flat_tensor.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

#include "core/flatbuffer.h"
#include "program/schema_generated.h"

namespace rushlight::schema::flat_tensor {

struct TensorLayout : flatbuffer::Table {
  using Table::Table;
  ::rushlight::schema::ScalarType scalar_type() const { return scalar<::rushlight::schema::ScalarType>(4, ::rushlight::schema::ScalarType::BYTE); }
  flatbuffer::Vector<int32_t> sizes() const { return vector<int32_t>(6); }
  bool has_sizes() const { return field(6) != nullptr; }
  flatbuffer::Vector<uint8_t> dim_order() const { return vector<uint8_t>(8); }
  bool has_dim_order() const { return field(8) != nullptr; }
};

struct DataSegment : flatbuffer::Table {
  using Table::Table;
  uint64_t offset() const { return scalar<uint64_t>(4, 0); }
  uint64_t size() const { return scalar<uint64_t>(6, 0); }
};

struct NamedData : flatbuffer::Table {
  using Table::Table;
  std::string_view key() const { return string(4); }
  uint32_t segment_index() const { return scalar<uint32_t>(6, 0); }
  TensorLayout tensor_layout() const { return table<TensorLayout>(8); }
  bool has_tensor_layout() const { return field(8) != nullptr; }
};

struct FlatTensor : flatbuffer::Table {
  using Table::Table;
  uint32_t version() const { return scalar<uint32_t>(4, 0); }
  flatbuffer::Vector<DataSegment> segments() const { return vector<DataSegment>(6); }
  bool has_segments() const { return field(6) != nullptr; }
  flatbuffer::Vector<NamedData> named_data() const { return vector<NamedData>(8); }
  bool has_named_data() const { return field(8) != nullptr; }
};

namespace descriptors {

inline constexpr flatbuffer::Field kTensorLayout[] = {
  {"scalar_type", flatbuffer::Kind::Scalar, 1, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"dim_order", flatbuffer::Kind::Scalars, 1, false, 0},
};
inline constexpr flatbuffer::Field kDataSegment[] = {
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
  {"size", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kNamedData[] = {
  {"key", flatbuffer::Kind::String, 4, true, 0},
  {"segment_index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"tensor_layout", flatbuffer::Kind::Table, 4, false, 0},
};
inline constexpr flatbuffer::Field kFlatTensor[] = {
  {"version", flatbuffer::Kind::Scalar, 4, false, 0},
  {"segments", flatbuffer::Kind::Tables, 4, false, 1},
  {"named_data", flatbuffer::Kind::Tables, 4, false, 2},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"TensorLayout", kTensorLayout, 3, nullptr, 0},
  {"DataSegment", kDataSegment, 2, nullptr, 0},
  {"NamedData", kNamedData, 3, nullptr, 0},
  {"FlatTensor", kFlatTensor, 3, nullptr, 0},
};

}  // namespace descriptors

inline constexpr flatbuffer::Schema kFlatTensorSchema = {descriptors::kTables, nullptr, 3, 3, "FT01"};

}  // namespace rushlight::schema::flat_tensor
