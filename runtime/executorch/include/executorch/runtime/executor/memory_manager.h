#pragma once

#include "executorch/runtime/core/hierarchical_allocator.h"
#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/memory.h"

namespace executorch {
namespace runtime {

// The memories of a method. The caller owns them, and they must outlive the method. The planned memory may be null only
// if the method plans no tensors. If the scratch memory is null, the method allocates it.
class MemoryManager final {
 public:
  explicit MemoryManager(MemoryAllocator* method_allocator, HierarchicalAllocator* planned_memory = nullptr,
                         MemoryAllocator* temp_allocator = nullptr)
      : method_allocator_(method_allocator), planned_memory_(planned_memory), temp_allocator_(temp_allocator) {
    ET_CHECK_MSG(method_allocator == nullptr || method_allocator != temp_allocator,
                 "the method allocator and the temporary allocator must be different objects");
  }
  ET_DEPRECATED MemoryManager(MemoryAllocator*, HierarchicalAllocator* non_constant_allocator,
                              MemoryAllocator* runtime_allocator, MemoryAllocator* temporary_allocator)
      : MemoryManager(runtime_allocator, non_constant_allocator, temporary_allocator) {}

  MemoryAllocator* method_allocator() const { return method_allocator_; }
  HierarchicalAllocator* planned_memory() const { return planned_memory_; }
  MemoryAllocator* temp_allocator() const { return temp_allocator_; }

  ::rushlight::MemoryManager native() const {
    return {method_allocator_, planned_memory_ ? planned_memory_->native() : nullptr, temp_allocator_};
  }

 private:
  MemoryAllocator* method_allocator_;
  HierarchicalAllocator* planned_memory_;
  MemoryAllocator* temp_allocator_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::MemoryManager;
}  // namespace executor
}  // namespace torch
