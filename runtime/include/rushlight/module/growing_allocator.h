#pragma once

#include <cstddef>

#include "rushlight/core/memory.h"

namespace rushlight {

// A MemoryAllocator that allocates chunks from the platform when it needs them. reset() keeps one chunk that is large
// enough for everything that was allocated, so that the same allocations again need no memory of the platform.
class GrowingAllocator final : public MemoryAllocator {
 public:
  explicit GrowingAllocator(size_t chunk_size = 64 * 1024) : MemoryAllocator(nullptr, 0), chunk_size_(chunk_size) {}
  ~GrowingAllocator();
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override;
  // Returns the bytes of all chunks.
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
