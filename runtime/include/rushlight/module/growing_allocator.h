#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/memory.h"

namespace rushlight {

// A limit for the total number of bytes that several allocators request from the platform. One thread uses it at a
// time.
struct MemoryBudget {
  size_t limit = SIZE_MAX;
  size_t used = 0;

  // Counts `size` bytes as used. Returns false, and counts nothing, if the limit would be exceeded.
  bool take(size_t size) {
    if (size > limit - used) return false;
    used += size;
    return true;
  }
};

// A MemoryAllocator that allocates chunks from the platform when it needs them. reset() keeps one chunk that has room
// for all previous allocations, so that repeating these allocations needs no further memory from the platform.
class GrowingAllocator final : public MemoryAllocator {
 public:
  // `budget` outlives the allocator; null: no limit.
  explicit GrowingAllocator(size_t chunk_size = 64 * 1024, MemoryBudget* budget = nullptr)
      : MemoryAllocator(nullptr, 0), chunk_size_(chunk_size), budget_(budget) {}
  ~GrowingAllocator();
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override;
  size_t exceeded_limit() const override { return exceeded_limit_; }
  // Returns the bytes of all chunks.
  size_t footprint() const { return footprint_; }

 private:
  struct Chunk;
  Chunk* add_chunk(size_t size);
  void release_chunks();
  Chunk* chunks_ = nullptr;  // newest first
  size_t chunk_size_;
  MemoryBudget* budget_;
  size_t exceeded_limit_ = 0;
  size_t footprint_ = 0;
};

}  // namespace rushlight
