#pragma once

#include <cstdint>

#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "rushlight/core/memory.h"

namespace executorch {
namespace runtime {

// The planned memories of a method.
class HierarchicalAllocator final {
 public:
  // The caller owns the buffers and the span of buffers.
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : native_(buffers) {}
  // Uses the memories of at most 16 allocators as buffers.
  ET_DEPRECATED HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators);
  HierarchicalAllocator(const HierarchicalAllocator&) = delete;
  HierarchicalAllocator& operator=(const HierarchicalAllocator&) = delete;

  // Returns the address of bytes [offset_bytes, offset_bytes + size_bytes) of a buffer, or an error if they are not
  // inside it.
  ET_NODISCARD Result<void*> get_offset_address(uint32_t memory_id, size_t offset_bytes, size_t size_bytes) {
    return native_.get(memory_id, offset_bytes, size_bytes);
  }

  ::rushlight::HierarchicalAllocator* native() { return &native_; }

 private:
  static constexpr size_t kMaxAllocators = 16;
  Span<uint8_t> spans_[kMaxAllocators];
  ::rushlight::HierarchicalAllocator native_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::HierarchicalAllocator;
}  // namespace executor
}  // namespace torch
