#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/span.h"

namespace rushlight::xnnpack {

// A part of the workspace that is used from step `first` to step `last`, inclusive.
struct Slot {
  size_t size = 0;  // bytes
  uint32_t first = 0;
  uint32_t last = 0;
  size_t offset = 0;  // set by place(), a multiple of 64
};

// Sets the offset of every slot so that slots with overlapping lifetimes do not overlap, and sets `total` to the size
// of the workspace in bytes. It places the largest slot first, and each slot at the lowest free offset.
Error place(Slot* slots, uint32_t count, MemoryAllocator& allocator, size_t* total);

// A read or write of a slot by a step.
struct Access {
  uint32_t step = 0;
  uint32_t slot = 0;
  bool writes = false;
};

// Checks the offsets by simulating the accesses, which are in the order of the steps. Returns InvalidState if a slot is
// read before it is written or after it was overwritten, if a step overwrites a slot that it also accesses, or if a
// slot extends beyond `total` bytes. It does not use the lifetimes of the slots.
Error check_places(Span<const Slot> slots, Span<const Access> accesses, size_t total, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
