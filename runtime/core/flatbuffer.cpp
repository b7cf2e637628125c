#include "core/flatbuffer.h"

namespace rushlight::flatbuffer {

const uint8_t* Table::field(uint16_t vtable_offset) const {
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

const uint8_t* Table::target(uint16_t vtable_offset) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? nullptr : follow(at);
}

const uint8_t* Table::list(uint16_t vtable_offset) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? kEmpty : follow(at);
}

const uint8_t* Table::member(uint16_t vtable_offset, uint8_t tag) const {
  return bits(vtable_offset, uint8_t{0}) == tag ? target(vtable_offset + 2) : nullptr;
}

uint8_t Table::bits(uint16_t vtable_offset, uint8_t fallback) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? fallback : *at;
}

uint16_t Table::bits(uint16_t vtable_offset, uint16_t fallback) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? fallback : load<uint16_t>(at);
}

uint32_t Table::bits(uint16_t vtable_offset, uint32_t fallback) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? fallback : load<uint32_t>(at);
}

uint64_t Table::bits(uint16_t vtable_offset, uint64_t fallback) const {
  const uint8_t* at = field(vtable_offset);
  return at == nullptr ? fallback : load<uint64_t>(at);
}

namespace {

// An offset of the format has at most 31 bits.
constexpr size_t kMaxSize = 0x7fffffff;

class Verifier {
 public:
  Verifier(const Schema& schema, const uint8_t* data, size_t size, Malformed* malformed)
      : schema_(schema), data_(data), size_(size), budget_(8 * uint64_t{size} + 1024), malformed_(malformed) {}

  bool run() {
    if (size_ < 8) {
      return fail("shorter than the smallest buffer", 0);
    }
    if (size_ > kMaxSize) {
      return fail("longer than 2 GiB", 0);
    }
    if (reinterpret_cast<uintptr_t>(data_) % kBufferAlignment != 0) {
      return fail("the buffer is not aligned to 8 bytes", 0);
    }
    if (std::memcmp(data_ + 4, schema_.identifier, 4) != 0) {
      return fail("wrong file identifier", 4);
    }
    size_t at = 0;
    return follow_offset(0, &at) && table(schema_.root, at, schema_.depth);
  }

 private:
  bool fail(Name reason, size_t offset) {
    if (malformed_ != nullptr) {
      *malformed_ = {reason, table_, field_, offset};
    }
    return false;
  }

  // Several tables may refer to the same table, so the verification of a damaged file could take time exponential in
  // the depth. Valid files need far less than this limit.
  bool spend(uint64_t work, size_t at) {
    if (work > budget_) {
      return fail("too many tables refer to the same tables", at);
    }
    budget_ -= work;
    return true;
  }

  // Returns whether `bytes` bytes at `at` are inside the buffer, without an addition, which could overflow.
  bool inside(size_t at, uint64_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  // Follows the 4-byte offset at `at`. Every target starts with a 4-byte word.
  bool follow_offset(size_t at, size_t* target) {
    const uint32_t offset = load<uint32_t>(data_ + at);
    if (offset == 0) {
      return fail("null offset", at);
    }
    if (offset > kMaxSize || !inside(at + offset, 4)) {
      return fail("offset points outside of the buffer", at);
    }
    if ((at + offset) % 4 != 0) {
      return fail("offset points to an unaligned object", at);
    }
    *target = at + offset;
    return true;
  }

  bool string(size_t at) {
    const uint64_t length = load<uint32_t>(data_ + at);
    if (!inside(at + 4, length + 1)) {
      return fail("string ends outside of the buffer", at);
    }
    return data_[at + 4 + length] == 0 || fail("string is not NUL-terminated", at);
  }

  bool vector(const Field& field, size_t at, unsigned depth) {
    const uint64_t count = load<uint32_t>(data_ + at);
    const size_t first = at + 4;
    if (!inside(first, count * field.size)) {
      return fail("vector ends outside of the buffer", at);
    }
    if (count != 0 && first % field.size != 0) {
      return fail("vector elements are not aligned", at);
    }
    if (field.kind == Kind::Scalars) {
      return true;
    }
    if (!spend(count, at)) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t element = first + i * field.size;
      size_t target = 0;
      if (field.kind == Kind::Bools) {
        if (data_[element] > 1) {
          return fail("bool is neither 0 nor 1", element);
        }
      } else if (!follow_offset(element, &target)) {
        return false;
      } else if (field.kind == Kind::Strings ? !string(target) : !table(field.target, target, depth)) {
        return false;
      }
    }
    return true;
  }

  // `at` must be inside the buffer and have `field.size` aligned bytes. `tag` is the union tag before the field.
  bool value(const Field& field, size_t at, uint8_t tag, unsigned depth) {
    if (field.kind == Kind::Scalar) {
      return true;
    }
    if (field.kind == Kind::Bool) {
      return data_[at] <= 1 || fail("bool is neither 0 nor 1", at);
    }
    if (field.kind == Kind::UnionTag) {
      return data_[at] <= schema_.unions[field.target].num_members || fail("unknown union type", at);
    }
    size_t target = 0;
    if (!follow_offset(at, &target)) {
      return false;
    }
    switch (field.kind) {
      case Kind::String:
        return string(target);
      case Kind::Table:
        return table(field.target, target, depth);
      case Kind::Union:
        if (tag == 0) {
          return fail("union value without a type", at);
        }
        return table(schema_.unions[field.target].members[tag - 1], target, depth);
      default:
        return vector(field, target, depth);
    }
  }

  // `at` must be aligned to 4 and have at least 4 bytes. `depth` is the number of nested tables that are still allowed.
  bool table(uint16_t index, size_t at, unsigned depth) {
    const TableInfo& info = schema_.tables[index];
    const char* const outer_table = table_;
    const char* const outer_field = field_;
    table_ = info.name;
    field_ = nullptr;
    if (depth == 0) {
      return fail("tables are nested too deeply", at);
    }
    if (!spend(1, at)) {
      return false;
    }
    const int64_t vtable = static_cast<int64_t>(at) - load<int32_t>(data_ + at);
    if (vtable < 0 || vtable % 2 != 0 || !inside(static_cast<size_t>(vtable), 4)) {
      return fail("vtable is outside of the buffer or unaligned", at);
    }
    const size_t vtable_at = static_cast<size_t>(vtable);
    const uint16_t vtable_size = load<uint16_t>(data_ + vtable_at);
    const uint16_t table_size = load<uint16_t>(data_ + vtable_at + 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || !inside(vtable_at, vtable_size)) {
      return fail("vtable has an invalid size", vtable_at);
    }
    if (table_size < 4 || !inside(at, table_size)) {
      return fail("table ends outside of the buffer", at);
    }
    uint8_t tag = 0;
    for (uint16_t i = 0; i < info.num_fields; ++i) {
      const Field& field = info.fields[i];
      field_ = field.name;
      const size_t entry = 4 + 2 * size_t{i};
      const uint16_t offset = entry < vtable_size ? load<uint16_t>(data_ + vtable_at + entry) : uint16_t{0};
      const bool is_absent = offset == 0;
      if (is_absent) {
        const bool missing_value = field.kind == Kind::Union && tag != 0;
        if (field.required || missing_value) {
          return fail(missing_value ? "union type without a value" : "required field is absent", at);
        }
      } else {
        const bool is_vector = field.kind >= Kind::Scalars;
        const size_t bytes = is_vector ? 4 : field.size;
        if (offset < 4 || offset + bytes > table_size) {
          return fail("field is outside of its table", vtable_at + entry);
        }
        if ((at + offset) % bytes != 0) {
          return fail("field is not aligned", vtable_at + entry);
        }
        if (!value(field, at + offset, tag, depth - 1)) {
          return false;
        }
      }
      tag = field.kind == Kind::UnionTag && !is_absent ? data_[at + offset] : uint8_t{0};
    }
    if (!numbers(info, at)) {
      return false;
    }
    table_ = outer_table;
    field_ = outer_field;
    return true;
  }

  // Checks the bounds of the numbers of a verified table at `at`. Default values are within their bounds.
  bool numbers(const TableInfo& info, size_t at) {
    const uint8_t* const vtable = data_ + at - load<int32_t>(data_ + at);
    for (uint16_t i = 0; i < info.num_bounds; ++i) {
      const Bounds& bounds = info.bounds[i];
      const size_t entry = 4 + 2 * size_t{bounds.field};
      const uint16_t offset = entry < load<uint16_t>(vtable) ? load<uint16_t>(vtable + entry) : uint16_t{0};
      if (offset == 0) continue;
      const int64_t value = number(data_ + at + offset, info.fields[bounds.field].size, bounds.is_signed);
      if (value < bounds.low || value > bounds.high) {
        field_ = info.fields[bounds.field].name;
        return fail("number is out of its bounds", at + offset);
      }
    }
    return true;
  }

  static int64_t number(const uint8_t* at, uint8_t size, bool is_signed) {
    switch (size) {
      case 1:
        return is_signed ? load<int8_t>(at) : load<uint8_t>(at);
      case 2:
        return is_signed ? load<int16_t>(at) : load<uint16_t>(at);
      case 4:
        return is_signed ? load<int32_t>(at) : int64_t{load<uint32_t>(at)};
      default:
        return load<int64_t>(at);
    }
  }

  const Schema& schema_;
  const uint8_t* const data_;
  const size_t size_;
  uint64_t budget_;
  Malformed* const malformed_;
  const char* table_ = nullptr;
  const char* field_ = nullptr;
};

}  // namespace

bool verify(const Schema& schema, const void* data, size_t size, Malformed* malformed) {
  return Verifier(schema, static_cast<const uint8_t*>(data), size, malformed).run();
}

}  // namespace rushlight::flatbuffer
