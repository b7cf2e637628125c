// Writes FlatBuffers with any content, valid or invalid, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rushlight::testing {

class Node;
using NodePtr = std::shared_ptr<Node>;

// A table, string or vector.
class Node {
 public:
  // Tables; `slot` counts the fields from 0.
  template <typename T>
  Node& set(uint16_t slot, T value) {
    Field& field = fields_[slot];
    field.bytes.resize(sizeof(T));
    std::memcpy(field.bytes.data(), &value, sizeof(T));
    return *this;
  }
  Node& set(uint16_t slot, NodePtr child) {
    Field& field = fields_[slot];
    field.bytes.resize(4);
    field.child = std::move(child);
    return *this;
  }

  static NodePtr table() { return std::make_shared<Node>(); }
  static NodePtr string(const std::string& text) {
    auto node = table();
    node->kind_ = Kind::Bytes;
    node->count_ = static_cast<uint32_t>(text.size());
    node->elements_.assign(text.begin(), text.end());
    node->elements_.push_back(0);
    node->element_size_ = 1;
    return node;
  }
  template <typename T>
  static NodePtr numbers(const std::vector<T>& values) {
    auto node = table();
    node->kind_ = Kind::Bytes;
    node->count_ = static_cast<uint32_t>(values.size());
    for (const T value : values) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
      node->elements_.insert(node->elements_.end(), bytes, bytes + sizeof(T));
    }
    node->element_size_ = sizeof(T);
    return node;
  }
  static NodePtr tables(std::vector<NodePtr> children) {
    auto node = table();
    node->kind_ = Kind::Children;
    node->children_ = std::move(children);
    return node;
  }

  // Writes this node only once, even if several items of a vector refer to it. Valid for one write() only.
  void share() { is_shared_ = true; }

  // Appends this node and its children to `out`. Returns the offset of the node. A node that occurs twice is written
  // twice, unless it is shared.
  size_t write(std::vector<uint8_t>* out) const {
    if (!is_shared_ || position_ == 0) position_ = append(out);
    return position_;
  }

 private:
  size_t append(std::vector<uint8_t>* out) const {
    switch (kind_) {
      case Kind::Bytes:
        return write_bytes(out);
      case Kind::Children:
        return write_children(out);
      case Kind::Table:
        break;
    }
    return write_table(out);
  }

  enum class Kind { Table, Bytes, Children };
  struct Field {
    std::vector<uint8_t> bytes;
    NodePtr child;
  };

  template <typename T>
  static void put(std::vector<uint8_t>* out, size_t at, T value) {
    std::memcpy(out->data() + at, &value, sizeof(T));
  }
  static size_t reserve(std::vector<uint8_t>* out, size_t size, size_t alignment, size_t lead = 0) {
    while ((out->size() + lead) % alignment != 0) out->push_back(0);
    const size_t at = out->size();
    out->resize(at + size);
    return at;
  }

  size_t write_bytes(std::vector<uint8_t>* out) const {
    const size_t alignment = element_size_ > 4 ? element_size_ : 4;
    const size_t at = reserve(out, 4 + elements_.size(), alignment, 4);
    put(out, at, count_);
    std::copy(elements_.begin(), elements_.end(), out->begin() + static_cast<long>(at) + 4);
    return at;
  }

  size_t write_children(std::vector<uint8_t>* out) const {
    const size_t at = reserve(out, 4 + 4 * children_.size(), 4);
    put(out, at, static_cast<uint32_t>(children_.size()));
    for (size_t i = 0; i < children_.size(); ++i) {
      const size_t place = at + 4 + 4 * i;
      const size_t child = children_[i]->write(out);
      put(out, place, static_cast<uint32_t>(child - place));
    }
    return at;
  }

  size_t write_table(std::vector<uint8_t>* out) const {
    const uint16_t slots = fields_.empty() ? 0 : static_cast<uint16_t>(fields_.rbegin()->first + 1);
    const size_t vtable = reserve(out, 4 + 2 * size_t{slots}, 2);
    size_t size = 4;
    std::map<uint16_t, size_t> offsets;
    for (const auto& [slot, field] : fields_) {
      while (size % field.bytes.size() != 0) ++size;
      offsets[slot] = size;
      size += field.bytes.size();
    }
    const size_t at = reserve(out, size, 8);
    put(out, at, static_cast<int32_t>(at - vtable));
    put(out, vtable, static_cast<uint16_t>(4 + 2 * slots));
    put(out, vtable + 2, static_cast<uint16_t>(size));
    for (const auto& [slot, field] : fields_) {
      put(out, vtable + 4 + 2 * size_t{slot}, static_cast<uint16_t>(offsets[slot]));
      const size_t place = at + offsets[slot];
      std::copy(field.bytes.begin(), field.bytes.end(), out->begin() + static_cast<long>(place));
      if (!field.child) continue;
      const size_t child = field.child->write(out);
      put(out, place, static_cast<uint32_t>(child - place));
    }
    return at;
  }

  Kind kind_ = Kind::Table;
  std::map<uint16_t, Field> fields_;
  std::vector<uint8_t> elements_;
  uint32_t count_ = 0;
  size_t element_size_ = 1;
  std::vector<NodePtr> children_;
  bool is_shared_ = false;
  mutable size_t position_ = 0;
};

}  // namespace rushlight::testing
