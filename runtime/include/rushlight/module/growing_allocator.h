#pragma once

#include <cstddef>

#include "rushlight/core/memory.h"

namespace rushlight {

// A MemoryAllocator that takes chunks from the platform as it needs them. reset() keeps the memory, as one chunk that
// holds all that was used, so that a repeated sequence of allocations takes nothing from the platform.
class GrowingAllocator final : public MemoryAllocator {
 public:
  explicit GrowingAllocator(size_t chunk_size = 64 * 1024) : MemoryAllocator(nullptr, 0), chunk_size_(chunk_size) {}
  ~GrowingAllocator();
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override;
  // Bytes taken from the platform.
  size_t footprint() const { return footprint_; }

 private:
  struct Chunk;
  Chunk* add_chunk(size_t size);
  void release_chunks();
  Chunk* chunks_ = nullptr;  // newest first
  size_t chunk_size_;
  size_t footprint_ = 0;
};

}  // namespace rushlight
