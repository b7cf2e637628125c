#include "rushlight/core/memory.h"

#include <gtest/gtest.h>

namespace rushlight {
namespace {

TEST(MemoryAllocator, AlignsAndRunsOut) {
  alignas(64) uint8_t buffer[256];
  BufferAllocator memory(buffer, sizeof(buffer));
  EXPECT_EQ(memory.allocate(1, 1), buffer);
  EXPECT_EQ(memory.allocate(8, 16), buffer + 16);
  EXPECT_EQ(memory.used(), 24u);
  EXPECT_EQ(memory.allocate(1, 3), nullptr) << "not a power of two";
  EXPECT_EQ(memory.allocate(1, 0), nullptr);
  EXPECT_EQ(memory.allocate(233), nullptr);
  EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.used(), 24u) << "a failed request takes nothing";
  EXPECT_EQ(memory.allocate(232), buffer + 24);
  EXPECT_EQ(memory.allocate(1, 1), nullptr);
  memory.reset();
  EXPECT_EQ(memory.allocate(256, 64), buffer);
}

TEST(MemoryAllocator, ChecksArraySizes) {
  alignas(8) uint8_t buffer[64];
  BufferAllocator memory(buffer, sizeof(buffer));
  EXPECT_NE(memory.allocate_array<uint64_t>(8), nullptr);
  memory.reset();
  EXPECT_EQ(memory.allocate_array<uint64_t>(9), nullptr);
  EXPECT_EQ(memory.allocate_array<uint64_t>(SIZE_MAX / 8 + 2), nullptr) << "the product would overflow";
}

TEST(HierarchicalAllocator, GivesRangesOfItsBuffers) {
  uint8_t first[16], second[8];
  Span<uint8_t> buffers[] = {first, second};
  const HierarchicalAllocator memories(buffers);
  EXPECT_EQ(*memories.get(1, 4, 4), second + 4);
  EXPECT_EQ(*memories.get(0, 16, 0), first + 16);
  EXPECT_EQ(memories.get(1, 4, 5).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(memories.get(0, SIZE_MAX, 2).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(memories.get(2, 0, 0).error(), Error::InvalidArgument);
}

}  // namespace
}  // namespace rushlight
