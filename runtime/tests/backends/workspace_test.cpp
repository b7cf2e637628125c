#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)

#include "backends/xnnpack/workspace.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rushlight::xnnpack {
namespace {

// A chain of steps: each step reads the slot of the previous step and its own scratch slot, and writes a slot.
struct Chain {
  std::vector<Slot> slots;
  std::vector<Access> accesses;
  size_t total = 0;
  std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 16);
  BufferAllocator allocator{memory.data(), memory.size()};

  explicit Chain(uint32_t steps) {
    for (uint32_t s = 0; s < steps; ++s) {
      if (s > 0) {
        accesses.push_back({s, 2 * (s - 1), false});
        slots[2 * (s - 1)].last = s;
      }
      accesses.push_back({s, 2 * s, true});
      accesses.push_back({s, 2 * s + 1, true});
      slots.push_back({100 + s, s, s, 0});
      slots.push_back({32, s, s, 0});
    }
    EXPECT_EQ(place(slots.data(), static_cast<uint32_t>(slots.size()), allocator, &total), Error::Ok);
  }

  Error check() {
    return check_places({slots.data(), slots.size()}, {accesses.data(), accesses.size()}, total, allocator);
  }
};

TEST(Workspace, PlacesThatDoNotOverlapPass) {
  Chain chain(6);
  EXPECT_EQ(chain.check(), Error::Ok);
  EXPECT_LT(chain.total, 6u * (128 + 64));
}

TEST(Workspace, ASlotThatIsOverwrittenBeforeItIsReadFails) {
  Chain chain(6);
  chain.slots[6].offset = chain.slots[4].offset;  // the slots of steps 3 and 2
  EXPECT_EQ(chain.check(), Error::InvalidState);
}

TEST(Workspace, ALaterReadThanThePlanKnowsOfFails) {
  Chain chain(6);
  chain.accesses.insert(chain.accesses.end() - 2, {5, 0, false});
  EXPECT_EQ(chain.check(), Error::InvalidState);
}

TEST(Workspace, ScratchOverTheResultFails) {
  Chain chain(2);
  chain.slots[3].offset = chain.slots[2].offset;
  EXPECT_EQ(chain.check(), Error::InvalidState);
}

TEST(Workspace, AReadOfWhatWasNeverWrittenFails) {
  Chain chain(2);
  chain.accesses.erase(chain.accesses.begin());
  EXPECT_EQ(chain.check(), Error::InvalidState);
}

TEST(Workspace, ASlotOutsideFails) {
  Chain chain(2);
  chain.total = 64;
  EXPECT_EQ(chain.check(), Error::InvalidState);
}

TEST(Workspace, PlacesOfRandomGraphsPass) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> memory(1 << 16);
    BufferAllocator allocator(memory.data(), memory.size());
    std::vector<Slot> slots;
    std::vector<Access> accesses;
    for (uint32_t step = 0; step < 20; ++step) {
      for (uint32_t input = 0; input < random() % 4 && !slots.empty(); ++input) {
        const uint32_t slot = static_cast<uint32_t>(random() % slots.size());
        accesses.push_back({step, slot, false});
        slots[slot].last = step;
      }
      accesses.push_back({step, static_cast<uint32_t>(slots.size()), true});
      slots.push_back({1 + random() % 500, step, step, 0});
    }
    size_t total = 0;
    ASSERT_EQ(place(slots.data(), static_cast<uint32_t>(slots.size()), allocator, &total), Error::Ok);
    EXPECT_EQ(check_places({slots.data(), slots.size()}, {accesses.data(), accesses.size()}, total, allocator),
              Error::Ok);
  }
}

}  // namespace
}  // namespace rushlight::xnnpack

#endif
