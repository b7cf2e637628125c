// Builds .ptd files from plain structs. It checks nothing, so that tests can also write invalid files.
#pragma once

#include <string>
#include <vector>

#include "rushlight/core/scalar_type.h"
#include "tests/support/flatbuffer_writer.h"

namespace rushlight::testing {

struct DataSpec {
  std::string key;
  uint32_t segment = 0;
  bool is_tensor = true;
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
};

struct DataFileSpec {
  uint32_t version = 0;
  std::vector<std::pair<uint64_t, uint64_t>> segments;  // offset, size
  std::vector<DataSpec> entries;
  std::vector<uint8_t> segment_data;
};

inline std::vector<uint8_t> build(const DataFileSpec& spec) {
  std::vector<NodePtr> segments, entries;
  for (const auto& [offset, size] : spec.segments) {
    auto node = Node::table();
    node->set(0, offset).set(1, size);
    segments.push_back(node);
  }
  for (const DataSpec& entry : spec.entries) {
    auto node = Node::table();
    node->set(0, Node::string(entry.key)).set(1, entry.segment);
    if (entry.is_tensor) {
      auto layout = Node::table();
      layout->set(0, static_cast<int8_t>(entry.dtype)).set(1, Node::numbers(entry.sizes));
      layout->set(2, Node::numbers(entry.dim_order));
      node->set(2, layout);
    }
    entries.push_back(node);
  }
  auto root = Node::table();
  root->set(0, spec.version).set(1, Node::tables(segments)).set(2, Node::tables(entries));
  std::vector<uint8_t> file(48);
  const auto at_root = static_cast<uint32_t>(root->write(&file));
  std::memcpy(file.data(), &at_root, 4);
  std::memcpy(file.data() + 4, "FT01FH01", 8);
  const uint32_t length = 40;
  std::memcpy(file.data() + 12, &length, 4);
  const uint64_t offset = 48;
  const uint64_t tables_size = file.size() - 48;
  while (file.size() % 16 != 0) file.push_back(0);
  const uint64_t base = file.size();
  const uint64_t size = spec.segment_data.size();
  std::memcpy(file.data() + 16, &offset, 8);
  std::memcpy(file.data() + 24, &tables_size, 8);
  std::memcpy(file.data() + 32, &base, 8);
  std::memcpy(file.data() + 40, &size, 8);
  file.insert(file.end(), spec.segment_data.begin(), spec.segment_data.end());
  return file;
}

}  // namespace rushlight::testing
