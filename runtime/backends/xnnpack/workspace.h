#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/memory.h"

namespace rushlight::xnnpack {

// Memory that is in use from step `first` to step `last`, inclusive.
struct Slot {
  size_t size = 0;  // bytes
  uint32_t first = 0;
  uint32_t last = 0;
  size_t offset = 0;  // set by place(), a multiple of 64
};

// Gives every slot a place such that slots in use at the same time do not overlap; `total` is what all need together.
// Largest first, each at the lowest place that is free.
Error place(Slot* slots, uint32_t count, MemoryAllocator& allocator, size_t* total);

}  // namespace rushlight::xnnpack
