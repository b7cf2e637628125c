#include "program/extended_header.h"

#include <cstring>

namespace rushlight {
namespace {

using flatbuffer::load;
using flatbuffer::Malformed;

// The header comes after the root offset and the file identifier.
constexpr size_t kStart = 8;

bool fail(Malformed* malformed, flatbuffer::Name reason, size_t offset) {
  if (malformed != nullptr) {
    *malformed = {reason, flatbuffer::Name("file header"), nullptr, offset};
  }
  return false;
}

// Returns the start of the header, or null if the magic number is missing.
const uint8_t* find_header(const void* data, size_t size, const char* magic) {
  if (size < kStart + 4) {
    return nullptr;
  }
  const uint8_t* head = static_cast<const uint8_t*>(data) + kStart;
  return std::memcmp(head, magic, 4) == 0 ? head : nullptr;
}

// Checks that the parts of a layout are consistent. A `segment_size` of 0 means all bytes after the segment base.
bool check(uint64_t file_size, uint64_t header_end, FileLayout* layout, Malformed* malformed) {
  if (layout->tables_size < header_end || layout->tables_size > file_size) {
    return fail(malformed, "the tables do not fit in the file", kStart + 8);
  }
  if (layout->segment_base == 0) {
    if (layout->segment_size != 0) {
      return fail(malformed, "the offset of the first segment is missing", kStart + 16);
    }
    return true;
  }
  if (layout->segment_base < layout->tables_size || layout->segment_base > file_size) {
    return fail(malformed, "the segments do not begin between the tables and the end of the file", kStart + 16);
  }
  const uint64_t rest = file_size - layout->segment_base;
  if (layout->segment_size > rest) {
    return fail(malformed, "the segments do not fit in the file", kStart + 24);
  }
  if (layout->segment_size == 0) {
    layout->segment_size = rest;
  }
  return true;
}

}  // namespace

// u8[4] "eh00", u32 header length, u64 tables size, u64 segment base, u64 segment size if length >= 32.
bool read_program_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout, Malformed* malformed) {
  constexpr uint32_t kLengthWithoutSize = 24;
  constexpr uint32_t kLength = 32;
  *layout = {file_size, 0, 0};
  const uint8_t* head = find_header(data, size, "eh00");
  if (head == nullptr) {
    return true;
  }
  const size_t available = size - kStart;
  const uint32_t length = available >= 8 ? load<uint32_t>(head + 4) : 0;
  if (length < kLengthWithoutSize) {
    return fail(malformed, "the header is too short", kStart + 4);
  }
  if (available < (length < kLength ? kLengthWithoutSize : kLength)) {
    return fail(malformed, "the file ends inside of its header", kStart);
  }
  layout->tables_size = load<uint64_t>(head + 8);
  layout->segment_base = load<uint64_t>(head + 16);
  layout->segment_size = length < kLength ? 0 : load<uint64_t>(head + 24);
  return check(file_size, uint64_t{kStart} + length, layout, malformed);
}

// u8[4] "FH01", u32 header length, u64 flatbuffer offset, u64 flatbuffer size, u64 segment base, u64 segment
// size. The flatbuffer's root offset and identifier are before the header, so the tables are
// [0, offset + size).
bool read_flat_tensor_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout,
                             Malformed* malformed) {
  constexpr uint32_t kLength = 40;
  *layout = {file_size, 0, 0};
  const uint8_t* head = find_header(data, size, "FH01");
  if (head == nullptr) {
    return fail(malformed, "no \"FH01\" header", kStart);
  }
  if (size < kStart + kLength) {
    return fail(malformed, "the file ends inside of its header", kStart);
  }
  const uint32_t length = load<uint32_t>(head + 4);
  if (length < kLength) {
    return fail(malformed, "the header is too short", kStart + 4);
  }
  const uint64_t offset = load<uint64_t>(head + 8);
  const uint64_t flatbuffer_size = load<uint64_t>(head + 16);
  if (offset > file_size || flatbuffer_size > file_size - offset) {
    return fail(malformed, "the tables do not fit in the file", kStart + 8);
  }
  layout->tables_size = offset + flatbuffer_size;
  layout->segment_base = load<uint64_t>(head + 24);
  layout->segment_size = load<uint64_t>(head + 32);
  return check(file_size, uint64_t{kStart} + length, layout, malformed);
}

}  // namespace rushlight
