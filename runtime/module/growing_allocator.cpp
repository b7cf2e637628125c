#include "rushlight/module/growing_allocator.h"

#include <cstdint>

#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kMaxDoubledBytes = size_t{1} << 20;  // the maximum size that doubling gives to a chunk

}  // namespace

struct GrowingAllocator::Chunk {
  Chunk* previous;
  size_t size;  // the bytes after the header

  uint8_t* memory() { return reinterpret_cast<uint8_t*>(this) + kHeader; }
  static constexpr size_t kHeader = 64;
};

GrowingAllocator::~GrowingAllocator() { release_chunks(); }

void GrowingAllocator::release_chunks() {
  while (chunks_) {
    Chunk* previous = chunks_->previous;
    platform::release(chunks_);
    chunks_ = previous;
  }
  if (budget_) budget_->used -= footprint_;
  footprint_ = 0;
  base_ = end_ = current_ = nullptr;
}

GrowingAllocator::Chunk* GrowingAllocator::add_chunk(size_t size) {
  if (size > SIZE_MAX - Chunk::kHeader) return nullptr;
  if (budget_ && !budget_->take(size + Chunk::kHeader)) {
    exceeded_limit_ = budget_->limit;
    return nullptr;
  }
  auto* chunk = static_cast<Chunk*>(platform::allocate(size + Chunk::kHeader, 64));
  if (!chunk) {
    if (budget_) budget_->used -= size + Chunk::kHeader;
    return nullptr;
  }
  chunk->previous = chunks_;
  chunk->size = size;
  chunks_ = chunk;
  footprint_ += size + Chunk::kHeader;
  base_ = current_ = chunk->memory();
  end_ = base_ + size;
  return chunk;
}

void* GrowingAllocator::allocate(size_t size, size_t alignment) {
  exceeded_limit_ = 0;
  if (chunks_) {
    if (void* memory = bump(size, alignment)) return memory;
  }
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || size > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) {
    return nullptr;
  }
  const size_t needed = size + alignment;
  // Doubling the size keeps the number of chunks small. The limit keeps the unused bytes small.
  const size_t doubled = footprint_ < kMaxDoubledBytes ? footprint_ : kMaxDoubledBytes;
  const size_t wanted = doubled > chunk_size_ ? doubled : chunk_size_;
  if (!add_chunk(needed > wanted ? needed : wanted) && !add_chunk(needed)) return nullptr;
  exceeded_limit_ = 0;
  return bump(size, alignment);
}

void GrowingAllocator::reset() {
  if (chunks_ && chunks_->previous) {
    const size_t total = footprint_;
    release_chunks();
    add_chunk(total);
  }
  current_ = base_;
}

}  // namespace rushlight
