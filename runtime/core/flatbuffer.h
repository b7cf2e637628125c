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

// Descriptors: constants generated from schema/*.fbs. Their numbers are small types, because all programs contain them.

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

// A text that only messages contain, such as the name of a table, a field or a union. A build without messages does not
// contain it.
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
  uint8_t target;
};

// The smallest and the largest value of field number `field`, which is a number or an enum.
struct Bounds {
  uint16_t field;
  bool is_signed;
  int32_t low;
  uint32_t high;
};

// fields[i] has vtable offset 4 + 2 * i.
struct TableInfo {
  constexpr TableInfo() = default;
  constexpr TableInfo(Name text, const Field* first, uint8_t field_count, const Bounds* first_bounds,
                      uint8_t bounds_count)
      : fields(first), bounds(first_bounds), num_fields(field_count), num_bounds(bounds_count), name(text) {}

  const Field* fields = nullptr;
  const Bounds* bounds = nullptr;  // in the order of the fields
  uint8_t num_fields = 0, num_bounds = 0;
  Name name = "";
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
  uint8_t vtable_offset;
  bool is_vector;
  bool is_optional;
  Effect effect;
};

// The operands of a table, in the schema's order, and the table's name.
struct OperandList {
  constexpr OperandList(Name text, const OperandInfo* first, uint8_t length)
      : operands(first), count(length), name(text) {}

  const OperandInfo* operands;
  uint8_t count;
  Name name;
};

inline constexpr uint32_t kNoOperand = UINT32_MAX;

// The index of an operand, and the name of the field for messages.
struct Operand {
#if defined(RUSHLIGHT_NO_MESSAGES)
  constexpr Operand(const char*, uint32_t number) : index(number) {}
  static constexpr const char* field = "";
#else
  constexpr Operand(const char* name, uint32_t number) : field(name), index(number) {}
  const char* field;
#endif
  uint32_t index;

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

// An empty vector or string. The elements of a vector would begin at a multiple of 8, the size of the longest number.
alignas(8) inline constexpr uint8_t kPaddedEmpty[16] = {};
inline constexpr const uint8_t* kEmpty = kPaddedEmpty + 4;

// A vector in verified bytes. T is a number, bool, enum, std::string_view or a table type. The default is an empty
// vector.
template <class T>
class Vector {
  static constexpr bool kInline = std::is_arithmetic_v<T> || std::is_enum_v<T>;
  static constexpr size_t kStep = kInline ? sizeof(T) : 4;  // bytes from element to element

 public:
  class Iterator {
   public:
    explicit Iterator(const uint8_t* at) : at_(at) {}
    T operator*() const { return element(at_); }
    Iterator& operator++() {
      at_ += kStep;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const uint8_t* at_;
  };

  constexpr Vector() = default;
  explicit Vector(const uint8_t* at) : at_(at) {}

  uint32_t size() const { return load<uint32_t>(at_); }
  bool empty() const { return size() == 0; }
  // Returns the elements in place. The pointer is not null.
  template <class U = T, class = std::enable_if_t<std::is_arithmetic_v<U> || std::is_enum_v<U>>>
  const U* data() const {
    return reinterpret_cast<const U*>(at_ + 4);
  }
  // `index` must be below size().
  T operator[](size_t index) const { return element(at_ + 4 + index * kStep); }
  Iterator begin() const { return Iterator(at_ + 4); }
  Iterator end() const { return Iterator(at_ + 4 + size() * kStep); }

 private:
  static T element(const uint8_t* at) {
    if constexpr (kInline) {
      return load<T>(at);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return string_at(follow(at));
    } else {
      return T(follow(at));
    }
  }

  const uint8_t* at_ = kEmpty;
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
  // These functions are called in hundreds of places, and only while a file is loaded. So they are not inline. They are
  // pure, so that a build without messages does not compute the arguments of a message.

  // Returns the address of a field by its vtable offset, or null if the field is absent.
  [[gnu::pure]] const uint8_t* field(uint16_t vtable_offset) const;
  // Returns the table that a field refers to, or null if the field is absent.
  [[gnu::pure]] const uint8_t* target(uint16_t vtable_offset) const;
  // Returns the string or the vector that a field refers to. It is empty if the field is absent.
  [[gnu::pure]] const uint8_t* list(uint16_t vtable_offset) const;
  // Returns the member of a union if it has the given tag, else null. `vtable_offset` is that of the tag.
  [[gnu::pure]] const uint8_t* member(uint16_t vtable_offset, uint8_t tag) const;
  // Returns the bits of a number, or `fallback` if the field is absent.
  [[gnu::pure]] uint8_t bits(uint16_t vtable_offset, uint8_t fallback) const;
  [[gnu::pure]] uint16_t bits(uint16_t vtable_offset, uint16_t fallback) const;
  [[gnu::pure]] uint32_t bits(uint16_t vtable_offset, uint32_t fallback) const;
  [[gnu::pure]] uint64_t bits(uint16_t vtable_offset, uint64_t fallback) const;

  // Returns the string, which ends with NUL, or an empty string if the field is absent.
  std::string_view string(uint16_t vtable_offset) const { return string_at(list(vtable_offset)); }
  template <class T>
  T scalar(uint16_t vtable_offset, T fallback) const {
    using Bits = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    static_assert(sizeof(T) == sizeof(Bits));
    Bits number;
    std::memcpy(&number, &fallback, sizeof(T));
    number = bits(vtable_offset, number);
    std::memcpy(&fallback, &number, sizeof(T));
    return fallback;
  }
  template <class T>
  T table(uint16_t vtable_offset) const {
    return T(target(vtable_offset));
  }
  template <class T>
  Vector<T> vector(uint16_t vtable_offset) const {
    return Vector<T>(list(vtable_offset));
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
