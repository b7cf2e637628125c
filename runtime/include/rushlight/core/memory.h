#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight {

// The alignment of allocations in bytes if the caller does not specify one.
inline constexpr size_t kDefaultAlignment = alignof(void*) > 8 ? alignof(void*) : 8;

// A bump allocator over a block that the caller owns: it places one allocation after the other, and reset() frees all
// of them together. Subclasses may use more blocks. One thread uses an allocator at a time.
class MemoryAllocator {
 public:
  // `base` points to `size` bytes, which outlive the allocator.
  MemoryAllocator(void* base, size_t size) : base_(static_cast<uint8_t*>(base)), end_(base_ + size), current_(base_) {}
  MemoryAllocator(const MemoryAllocator&) = delete;
  MemoryAllocator& operator=(const MemoryAllocator&) = delete;

  // Returns `size` bytes at a multiple of `alignment` (a power of two), or null if there is no memory. The bytes are
  // valid until reset().
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) { return bump(size, alignment); }
  // Frees all allocations.
  virtual void reset() { current_ = base_; }

  // Returns the limit in bytes that made the last allocation fail, or 0 if no limit made it fail.
  virtual size_t exceeded_limit() const { return 0; }

  // Returns memory for `count` elements, which are not initialized, or null.
  template <typename T>
  T* allocate_array(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(
        allocate(count * sizeof(T), alignof(T) > kDefaultAlignment ? alignof(T) : kDefaultAlignment));
  }

  // Returns the bytes in use, padding included.
  size_t used() const { return static_cast<size_t>(current_ - base_); }
  // Returns the bytes of the block.
  size_t size() const { return static_cast<size_t>(end_ - base_); }

 protected:
  ~MemoryAllocator() = default;  // never deleted through this class
  void* bump(size_t size, size_t alignment);
  uint8_t* base_;
  uint8_t* end_;
  uint8_t* current_;
};

// A MemoryAllocator that an application can create.
class BufferAllocator final : public MemoryAllocator {
 public:
  using MemoryAllocator::MemoryAllocator;
};

// The planned memories of a method. Buffer i holds the tensors with memory id i + 1. The caller owns the buffers and
// the span of buffers.
class HierarchicalAllocator final {
 public:
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : buffers_(buffers) {}
  // Returns the address of bytes [offset, offset + size) of buffer `index`, or an error if they are not inside it.
  Result<void*> get(size_t index, size_t offset, size_t size) const;
  // Returns the number of buffers.
  size_t count() const { return buffers_.size(); }
  // Returns the bytes of a buffer.
  size_t buffer_size(size_t index) const { return buffers_[index].size(); }

 private:
  Span<Span<uint8_t>> buffers_;
};

// The memories that a method uses. The caller owns them, and they outlive the method.
struct MemoryManager {
  MemoryAllocator* method = nullptr;         // structures of the method, and tensors without an upper size bound
  HierarchicalAllocator* planned = nullptr;  // planned tensors
  MemoryAllocator* temporary = nullptr;      // scratch memory of kernels, reset after each instruction; may be null
};

}  // namespace rushlight
