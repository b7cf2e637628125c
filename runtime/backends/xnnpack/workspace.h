#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/span.h"

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

// A step reads a slot or writes to it.
struct Access {
  uint32_t step = 0;
  uint32_t slot = 0;
  bool writes = false;
};

// Replays the accesses, which are in the order of the steps: fails unless everything that is read was written before
// and not overwritten since, no step writes over what it accesses otherwise, and all slots lie within `total` bytes.
// Knows nothing of how long slots are in use.
Error check_places(Span<const Slot> slots, Span<const Access> accesses, size_t total, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
