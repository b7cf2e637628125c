// Reads FlatBuffers without the FlatBuffers library. A verifier runs once over untrusted bytes; accessors then read the
// verified bytes in place. Source of the format: the FlatBuffers internals document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace rushlight::flatbuffer {

#if defined(__BYTE_ORDER__)
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are read in place as little-endian");
#endif

// Descriptors: constants generated from schema/*.fbs.

enum class Kind : uint8_t {
  Scalar,    // number or enum
  Bool,      // 0 or 1
  String,    // NUL-terminated
  Table,     // target: index of the table
  UnionTag,  // target: index of the union; the next field is its value
  Union,     // target: index of the union
  Scalars,   // vector of numbers or enums
  Bools,
  Strings,
  Tables,  // target: index of the element table
};

// The name of a table, a field or a union. Only messages contain it, so a build without messages has no texts of names.
#if defined(RUSHLIGHT_NO_MESSAGES)
struct Name {
  constexpr Name(const char*) {}
  constexpr operator const char*() const { return ""; }
};
#else
using Name = const char*;
#endif

struct Field {
  Name name;
  Kind kind;
  uint8_t size;  // bytes of the inline value, or of one element of a vector
  bool required;
  uint16_t target;
};

// The smallest and the largest value of field number `field`, which is a number or an enum.
struct Bounds {
  uint16_t field;
  bool is_signed;
  int64_t low, high;
};

// fields[i] has vtable offset 4 + 2 * i.
struct TableInfo {
  Name name;
  const Field* fields;
  uint16_t num_fields;
  const Bounds* bounds;  // in the order of the fields
  uint16_t num_bounds;
};

// members[i] is the table index of tag i + 1.
struct UnionInfo {
  Name name;
  const uint16_t* members;
  uint16_t num_members;
};

// The table graph has no cycles, so `depth` bounds the verifier's recursion.
struct Schema {
  const TableInfo* tables;
  const UnionInfo* unions;
  uint16_t root;
  uint16_t depth;
  char identifier[5];
};

// Operands: fields whose numbers are the indices of values that the table's owner reads or writes.

enum class Effect : uint8_t {
  Reads,
  Writes,
  Updates,  // writes some elements and does not change the others
};

struct OperandInfo {
  Name name;
  uint16_t vtable_offset;
  bool is_vector;
  bool is_optional;
  Effect effect;
};

// The operands of a table, in the schema's order, and the table's name.
struct OperandList {
  const char* name;
  const OperandInfo* operands;
  uint16_t count;
};

inline constexpr uint32_t kNoOperand = UINT32_MAX;

// The index of an operand, and the name of the field for messages.
struct Operand {
  const char* field = nullptr;
  uint32_t index = kNoOperand;

  bool has_value() const { return index != kNoOperand; }
};

// The reason and position of an error in the bytes. `table` and `field` may be null.
struct Malformed {
  const char* reason = nullptr;
  const char* table = nullptr;
  const char* field = nullptr;
  size_t offset = 0;  // bytes from the start of the buffer
};

// The alignment that verify() requires of a buffer.
constexpr size_t kBufferAlignment = 8;

// Checks that all offsets, vtables, tables, vectors, strings, unions and bools that are reachable from the root through
// fields of `schema` are inside data[0, size), aligned and well-formed. The time is linear in `size` for any bytes.
// Accessors may be used only if the result is true. `malformed` may be null.
bool verify(const Schema& schema, const void* data, size_t size, Malformed* malformed);

template <class T>
inline T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline const uint8_t* follow(const uint8_t* at) { return at + load<uint32_t>(at); }

// A NUL follows the bytes of the string.
inline std::string_view string_at(const uint8_t* at) {
  return {reinterpret_cast<const char*>(at + 4), load<uint32_t>(at)};
}

// A vector in verified bytes. T is a number, bool, enum, std::string_view or a table type. The default is an empty
// vector.
template <class T>
class Vector {
  static constexpr bool kInline = std::is_arithmetic_v<T> || std::is_enum_v<T>;

 public:
  class Iterator {
   public:
    Iterator(const Vector* vector, uint32_t index) : vector_(vector), index_(index) {}
    T operator*() const { return (*vector_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Vector* vector_;
    uint32_t index_;
  };

  constexpr Vector() = default;
  explicit Vector(const uint8_t* at) : elements_(at + 4), size_(load<uint32_t>(at)) {}

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Returns the elements in place, or null if the field is absent.
  template <class U = T, class = std::enable_if_t<std::is_arithmetic_v<U> || std::is_enum_v<U>>>
  const U* data() const {
    return reinterpret_cast<const U*>(elements_);
  }
  // `index` must be below size().
  T operator[](size_t index) const {
    if constexpr (kInline) {
      return load<T>(elements_ + index * sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return string_at(follow(elements_ + index * 4));
    } else {
      return T(follow(elements_ + index * 4));
    }
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  const uint8_t* elements_ = nullptr;
  uint32_t size_ = 0;
};

// The operands of one field.
class Operands {
 public:
  Operands(const char* field, Vector<uint32_t> indices) : field_(field), indices_(indices) {}

  uint32_t size() const { return indices_.size(); }
  Operand operator[](size_t place) const { return {field_, indices_[place]}; }

 private:
  const char* field_;
  Vector<uint32_t> indices_;
};

// The base class of the generated accessors. A default-constructed table stands for an absent table: its fields have
// their default values.
class Table {
 public:
  constexpr Table() = default;
  explicit constexpr Table(const uint8_t* at) : at_(at) {}
  explicit operator bool() const { return at_ != nullptr; }

  // Calls visit(operand, effect) for each operand that is present.
  template <class F>
  void for_each_operand(const OperandList& list, F&& visit) const {
    for (uint16_t i = 0; i < list.count; ++i) {
      const OperandInfo& info = list.operands[i];
      if (info.is_vector) {
        for (const uint32_t index : vector<uint32_t>(info.vtable_offset)) visit(Operand{info.name, index}, info.effect);
        continue;
      }
      const Operand operand{info.name, scalar<uint32_t>(info.vtable_offset, info.is_optional ? kNoOperand : 0)};
      if (operand.has_value()) visit(operand, info.effect);
    }
  }

 protected:
  // Returns the address of a field by its vtable offset, or null if the field is absent.
  const uint8_t* field(uint16_t vtable_offset) const {
    if (at_ == nullptr) {
      return nullptr;
    }
    const uint8_t* vtable = at_ - load<int32_t>(at_);
    if (vtable_offset >= load<uint16_t>(vtable)) {
      return nullptr;
    }
    const uint16_t offset = load<uint16_t>(vtable + vtable_offset);
    return offset == 0 ? nullptr : at_ + offset;
  }
  template <class T>
  T scalar(uint16_t vtable_offset, T fallback) const {
    const uint8_t* at = field(vtable_offset);
    return at == nullptr ? fallback : load<T>(at);
  }
  // Returns the string, which ends with NUL, or an empty string if the field is absent.
  std::string_view string(uint16_t vtable_offset) const {
    const uint8_t* at = field(vtable_offset);
    return at == nullptr ? std::string_view("") : string_at(follow(at));
  }
  template <class T>
  T table(uint16_t vtable_offset) const {
    const uint8_t* at = field(vtable_offset);
    return at == nullptr ? T() : T(follow(at));
  }
  template <class T>
  Vector<T> vector(uint16_t vtable_offset) const {
    const uint8_t* at = field(vtable_offset);
    return at == nullptr ? Vector<T>() : Vector<T>(follow(at));
  }

 private:
  const uint8_t* at_ = nullptr;
};

// Returns the root table of verified bytes.
template <class T>
T root(const void* data) {
  return T(follow(static_cast<const uint8_t*>(data)));
}

}  // namespace rushlight::flatbuffer
