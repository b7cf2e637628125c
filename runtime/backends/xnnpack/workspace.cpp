#include "backends/xnnpack/workspace.h"

#include <algorithm>

namespace rushlight::xnnpack {

Error place(Slot* slots, uint32_t count, MemoryAllocator& allocator, size_t* total) {
  *total = 0;
  if (count == 0) return Error::Ok;
  uint32_t* by_size = allocator.allocate_array<uint32_t>(count);
  uint32_t* placed = allocator.allocate_array<uint32_t>(count);  // slots in the order of their offsets
  RL_REQUIRE(by_size && placed, MemoryAllocationFailed, "no memory to plan %u slots", count);
  for (uint32_t i = 0; i < count; ++i) by_size[i] = i;
  std::sort(by_size, by_size + count, [slots](uint32_t a, uint32_t b) {
    return slots[a].size != slots[b].size ? slots[a].size > slots[b].size : a < b;
  });
  uint32_t num_placed = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Slot& slot = slots[by_size[i]];
    RL_REQUIRE(slot.size <= SIZE_MAX / 4, MemoryAllocationFailed, "a value of %zu bytes is too large for the workspace",
               slot.size);
    const size_t size = (slot.size + 63) / 64 * 64;
    size_t offset = 0;
    for (uint32_t j = 0; j < num_placed; ++j) {
      const Slot& other = slots[placed[j]];
      if (other.last < slot.first || slot.last < other.first) continue;
      if (offset + size <= other.offset) break;
      offset = std::max(offset, other.offset + (other.size + 63) / 64 * 64);
    }
    slot.offset = offset;
    uint32_t at = num_placed++;
    for (; at > 0 && slots[placed[at - 1]].offset > offset; --at) placed[at] = placed[at - 1];
    placed[at] = by_size[i];
    RL_REQUIRE(offset <= SIZE_MAX / 4, MemoryAllocationFailed, "the workspace is too large");
    *total = std::max(*total, offset + size);
  }
  return Error::Ok;
}

Error check_places(Span<const Slot> slots, Span<const Access> accesses, size_t total, MemoryAllocator& allocator) {
  constexpr uint32_t kNever = UINT32_MAX;
  uint32_t* last_steps = allocator.allocate_array<uint32_t>(slots.size());
  uint32_t* intact = allocator.allocate_array<uint32_t>(slots.size());  // slots whose contents are intact
  RL_REQUIRE((last_steps && intact) || slots.empty(), MemoryAllocationFailed, "no memory to check %zu slots",
             slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    last_steps[i] = kNever;
    RL_REQUIRE(slots[i].offset <= total && slots[i].size <= total - slots[i].offset, InvalidState,
               "slot %zu extends beyond the end of the workspace", i);
  }
  size_t num_intact = 0;
  for (const Access& access : accesses) {
    const Slot& slot = slots[access.slot];
    bool is_intact = false;
    size_t kept = 0;
    for (size_t i = 0; i < num_intact; ++i) {
      const uint32_t other = intact[i];
      is_intact = is_intact || other == access.slot;
      const bool overlaps =
          slots[other].offset < slot.offset + slot.size && slot.offset < slots[other].offset + slots[other].size;
      if (access.writes && other != access.slot && overlaps) {
        RL_REQUIRE(last_steps[other] != access.step, InvalidState,
                   "step %u writes slot %u of the workspace, which overlaps slot %u that it also uses", access.step,
                   access.slot, other);
        continue;
      }
      intact[kept++] = other;
    }
    num_intact = kept;
    RL_REQUIRE(is_intact || access.writes, InvalidState,
               "step %u reads slot %u of the workspace, which was not written or was overwritten", access.step,
               access.slot);
    if (!is_intact) intact[num_intact++] = access.slot;
    last_steps[access.slot] = access.step;
  }
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
