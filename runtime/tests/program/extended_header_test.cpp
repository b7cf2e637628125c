#include "program/extended_header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace rushlight {
namespace {

using flatbuffer::Malformed;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kFileSize = 1000;

// Returns the first bytes of a file: root offset, identifier, `magic`, `length`, then 64-bit words.
Bytes head(const char* magic, uint32_t length, std::initializer_list<uint64_t> words) {
  Bytes bytes(kHeaderBytes);
  std::memcpy(bytes.data() + 8, magic, 4);
  std::memcpy(bytes.data() + 12, &length, 4);
  size_t at = 16;
  for (const uint64_t word : words) {
    std::memcpy(bytes.data() + at, &word, 8);
    at += 8;
  }
  return bytes;
}

struct Case {
  Bytes bytes;
  const char* reason;  // null if the header is accepted
  FileLayout layout;
};

using Reader = bool (*)(const void*, size_t, uint64_t, FileLayout*, Malformed*);

void check(Reader read, const Case& test) {
  FileLayout layout{};
  Malformed malformed;
  const bool is_read = read(test.bytes.data(), test.bytes.size(), kFileSize, &layout, &malformed);
  if (test.reason != nullptr) {
    EXPECT_FALSE(is_read) << test.reason;
    EXPECT_STREQ(malformed.reason, test.reason);
    EXPECT_FALSE(read(test.bytes.data(), test.bytes.size(), kFileSize, &layout, nullptr));
    return;
  }
  ASSERT_TRUE(is_read) << malformed.reason;
  EXPECT_EQ(layout.tables_size, test.layout.tables_size);
  EXPECT_EQ(layout.segment_base, test.layout.segment_base);
  EXPECT_EQ(layout.segment_size, test.layout.segment_size);
}

TEST(ExtendedHeader, OfPrograms) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  const Case cases[] = {
      {head("eh00", 32, {100, 128, 872}), nullptr, {100, 128, 872}},
      {head("eh00", 32, {100, 128, 10}), nullptr, {100, 128, 10}},
      {head("eh00", 32, {100, 128, 0}), nullptr, {100, 128, 872}},
      {head("eh00", 32, {100, 0, 0}), nullptr, {100, 0, 0}},
      {head("eh00", 24, {100, 128, kHuge}), nullptr, {100, 128, 872}},
      {head("eh00", 40, {100, 128, 10}), nullptr, {100, 128, 10}},
      {head("none", 0, {}), nullptr, {kFileSize, 0, 0}},
      {Bytes(8), nullptr, {kFileSize, 0, 0}},
      {Bytes(), nullptr, {kFileSize, 0, 0}},
      {head("eh00", 23, {100, 128, 10}), "the header is too short", {}},
      {head("eh00", 32, {39, 128, 10}), "the tables do not fit in the file", {}},
      {head("eh00", 32, {1001, 0, 0}), "the tables do not fit in the file", {}},
      {head("eh00", kHuge & 0xffffffff, {100, 128, 10}), "the tables do not fit in the file", {}},
      {head("eh00", 32, {100, 0, 1}), "the offset of the first segment is missing", {}},
      {head("eh00", 32, {100, 99, 1}), "the segments do not begin between the tables and the end of the file", {}},
      {head("eh00", 32, {100, 1001, 0}), "the segments do not begin between the tables and the end of the file", {}},
      {head("eh00", 32, {100, 128, 873}), "the segments do not fit in the file", {}},
      {head("eh00", 32, {100, 128, kHuge}), "the segments do not fit in the file", {}},
  };
  for (const Case& test : cases) check(read_program_layout, test);
}

TEST(ExtendedHeader, OfFlatTensors) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  const Case cases[] = {
      {head("FH01", 40, {48, 100, 256, 744}), nullptr, {148, 256, 744}},
      {head("FH01", 40, {48, 100, 256, 0}), nullptr, {148, 256, 744}},
      {head("eh00", 40, {48, 100, 256, 744}), "no \"FH01\" header", {}},
      {Bytes(8), "no \"FH01\" header", {}},
      {head("FH01", 39, {48, 100, 256, 744}), "the header is too short", {}},
      {head("FH01", 40, {kHuge, 100, 256, 744}), "the tables do not fit in the file", {}},
      {head("FH01", 40, {48, kHuge, 256, 744}), "the tables do not fit in the file", {}},
      {head("FH01", 40, {8, 8, 256, 744}), "the tables do not fit in the file", {}},
      {head("FH01", 40, {48, 100, 256, 745}), "the segments do not fit in the file", {}},
  };
  for (const Case& test : cases) check(read_flat_tensor_layout, test);
}

TEST(ExtendedHeader, CutOffInTheHeader) {
  for (size_t size = 0; size < 40; ++size) {
    Bytes bytes = head("eh00", 32, {100, 128, 10});
    bytes.resize(size);
    bytes.shrink_to_fit();
    FileLayout layout{};
    // A file that ends before the magic number has no header.
    EXPECT_EQ(read_program_layout(bytes.data(), size, size, &layout, nullptr), size < 12) << size;
  }
  for (size_t size = 0; size < 48; ++size) {
    Bytes bytes = head("FH01", 40, {48, 100, 256, 744});
    bytes.resize(size);
    bytes.shrink_to_fit();
    FileLayout layout{};
    EXPECT_FALSE(read_flat_tensor_layout(bytes.data(), size, kFileSize, &layout, nullptr)) << size;
  }
}

}  // namespace
}  // namespace rushlight
