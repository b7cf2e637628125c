#pragma once

#include <cstdint>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/platform/assert.h"
#include "executorch/runtime/platform/compiler.h"
#include "executorch/runtime/platform/profiler.h"
#include "rushlight/core/memory.h"

namespace executorch {
namespace runtime {

// The runtime's allocator with the interface of ExecuTorch's class. An application may override its functions.
class MemoryAllocator : public ::rushlight::MemoryAllocator {
 public:
  static constexpr size_t kDefaultAlignment = alignof(void*);

  // `base_address` points to `size` bytes, which outlive the allocator.
  MemoryAllocator(uint32_t size, uint8_t* base_address) : ::rushlight::MemoryAllocator(base_address, size) {
    ET_CHECK_MSG(base_address != nullptr || size == 0, "%" PRIu32 " bytes at a null address", size);
  }
  virtual ~MemoryAllocator() = default;

  // Returns `size` bytes at a multiple of `alignment`, a power of two. Logs a message and returns null on failure.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override { ::rushlight::MemoryAllocator::reset(); }

  template <typename T>
  T* allocateInstance(size_t alignment = alignof(T)) {
    return static_cast<T*>(allocate(sizeof(T), alignment));
  }
  // Returns memory for `size` elements, which are not initialized, or null.
  template <typename T>
  T* allocateList(size_t size, size_t alignment = alignof(T)) {
    if (size > SIZE_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(allocate(size * sizeof(T), alignment));
  }

  virtual uint8_t* base_address() const { return base_; }
  virtual uint32_t size() const { return static_cast<uint32_t>(end_ - base_); }
  virtual size_t used_size() const { return static_cast<size_t>(current_ - base_); }
  virtual size_t free_size() const { return static_cast<size_t>(end_ - current_); }

  void enable_profiling(ET_UNUSED const char* name) {}

 protected:
  int32_t prof_id() const { return -1; }
  static constexpr bool isPowerOf2(size_t value) { return value != 0 && (value & (value - 1)) == 0; }
  static uint8_t* alignPointer(void* pointer, size_t alignment) {
    const uintptr_t mask = alignment - 1;
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(pointer) + mask) & ~mask);
  }
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryAllocator;
}  // namespace executor
}  // namespace torch
