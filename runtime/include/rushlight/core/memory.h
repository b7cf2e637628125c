#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight {

inline constexpr size_t kDefaultAlignment = alignof(void*) > 8 ? alignof(void*) : 8;

// A bump allocator over memory that the caller owns. Subclasses may grow or count.
class MemoryAllocator {
 public:
  MemoryAllocator(void* base, size_t size) : base_(static_cast<uint8_t*>(base)), end_(base_ + size), current_(base_) {}
  MemoryAllocator(const MemoryAllocator&) = delete;
  MemoryAllocator& operator=(const MemoryAllocator&) = delete;

  // Memory of `size` bytes at a multiple of `alignment` (a power of two), or null. Valid until reset().
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) { return bump(size, alignment); }
  // Gives back everything.
  virtual void reset() { current_ = base_; }

  template <typename T>
  T* allocate_array(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(
        allocate(count * sizeof(T), alignof(T) > kDefaultAlignment ? alignof(T) : kDefaultAlignment));
  }

  size_t used() const { return static_cast<size_t>(current_ - base_); }
  size_t size() const { return static_cast<size_t>(end_ - base_); }

 protected:
  ~MemoryAllocator() = default;  // never deleted through this class
  void* bump(size_t size, size_t alignment);
  uint8_t* base_;
  uint8_t* end_;
  uint8_t* current_;
};

// A MemoryAllocator that can stand alone.
class BufferAllocator final : public MemoryAllocator {
 public:
  using MemoryAllocator::MemoryAllocator;
};

// The planned memories of a method: buffer i holds the tensors whose memory id is i + 1.
class HierarchicalAllocator final {
 public:
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : buffers_(buffers) {}
  // The address of [offset, offset + size) in buffer `index`, or an error.
  Result<void*> get(size_t index, size_t offset, size_t size) const;
  size_t count() const { return buffers_.size(); }
  size_t buffer_size(size_t index) const { return buffers_[index].size(); }

 private:
  Span<Span<uint8_t>> buffers_;
};

// What a method may use: `method` for its structures and for tensors whose shapes nothing bounds (as long as it
// lives), `planned` for activations, `temporary` for kernels' scratch memory (reset after every instruction; may be
// null).
struct MemoryManager {
  MemoryAllocator* method = nullptr;
  HierarchicalAllocator* planned = nullptr;
  MemoryAllocator* temporary = nullptr;
};

}  // namespace rushlight
