#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "executorch/runtime/core/memory_allocator.h"

namespace executorch {
namespace extension {

// Makes each allocation with malloc(). reset() and the destructor free all allocations.
class MallocMemoryAllocator : public runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() : MemoryAllocator(0, nullptr) {}
  ~MallocMemoryAllocator() override { release(); }
  MallocMemoryAllocator(const MallocMemoryAllocator&) = delete;
  MallocMemoryAllocator& operator=(const MallocMemoryAllocator&) = delete;

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) {
      ET_LOG(Error, "the alignment %zu is not a power of 2", alignment);
      return nullptr;
    }
    if (size > SIZE_MAX - alignment) return nullptr;
    void* memory = std::malloc(size + alignment);
    if (!memory) {
      ET_LOG(Error, "malloc() failed to allocate %zu bytes", size);
      return nullptr;
    }
    pieces_.push_back(memory);
    return alignPointer(memory, alignment);
  }
  void reset() override { release(); }

 private:
  void release() {
    for (void* piece : pieces_) std::free(piece);
    pieces_.clear();
  }
  std::vector<void*> pieces_;
};

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::MallocMemoryAllocator;
}  // namespace util
}  // namespace executor
}  // namespace torch
