#pragma once

#include <cstddef>
#include <string_view>

#include "rushlight/core/event_tracer.h"
#include "rushlight/core/memory.h"

namespace rushlight {

// Records the allocations of another allocator.
class TracedAllocator final : public MemoryAllocator {
 public:
  // All arguments outlive this object.
  TracedAllocator(MemoryAllocator* allocator, EventTracer* tracer, std::string_view name)
      : MemoryAllocator(nullptr, 0), allocator_(allocator), tracer_(tracer), name_(name) {}
  void* allocate(size_t size, size_t alignment) override {
    void* memory = allocator_->allocate(size, alignment);
    if (memory) tracer_->track_allocation(tracer_->track_allocator(name_), size);
    return memory;
  }
  void reset() override { allocator_->reset(); }
  size_t exceeded_limit() const override { return allocator_->exceeded_limit(); }

 private:
  MemoryAllocator* allocator_;
  EventTracer* tracer_;
  std::string_view name_;
};

}  // namespace rushlight
