#include "backends/xnnpack/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "rushlight/platform/mutex.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {

namespace {

constexpr size_t kMaxName = 128;
constexpr size_t kMinBlock = size_t{256} << 10, kMaxBlock = size_t{16} << 20;

// A block of memory for several entries, because operating systems allocate one large block faster than many small
// blocks. The block is freed together with its last entry.
struct Block {
  size_t entries;
  size_t used, size;  // bytes, including this header
};
constexpr size_t kBlockHead = 64;
static_assert(sizeof(Block) <= kBlockHead);

struct Registry {
  platform::Mutex mutex;
  void* first = nullptr;  // head of the list of PackedWeights::Entry
  size_t count = 0;
  Block* open = nullptr;  // the block for the next entry, if the entry fits
  size_t last_size = 0;   // size of the latest block

  // Returns `size` bytes, aligned to 64 bytes, and their block. Returns null if there is no memory.
  uint8_t* allocate(size_t size, Block** block) {
    size = (size + 63) / 64 * 64;
    if (open == nullptr || size > open->size - open->used) {
      const size_t grown = last_size == 0 ? kMinBlock : std::min(4 * last_size, kMaxBlock);
      const size_t wanted = std::max(grown, size + kBlockHead);
      void* memory = platform::allocate(wanted, 64);
      if (memory == nullptr) return nullptr;
      open = new (memory) Block{0, kBlockHead, wanted};
      last_size = std::min(wanted, kMaxBlock);
    }
    *block = open;
    ++open->entries;
    uint8_t* const place = reinterpret_cast<uint8_t*>(open) + open->used;
    open->used += size;
    return place;
  }

  void release(Block* block) {
    if (--block->entries > 0) return;
    if (open == block) open = nullptr;
    if (count == 0) last_size = 0;
    platform::release(block);
  }
};

Registry& registry() {
  // The destructor never runs, so that the registry outlives every user.
  alignas(Registry) static unsigned char memory[sizeof(Registry)];
  static Registry* const instance = new (memory) Registry;
  return *instance;
}

}  // namespace

struct PackedWeights::Entry {
  char name[kMaxName];
  size_t name_size;
  uint64_t hash;
  size_t size;
  uint64_t bias_hash;
  uint64_t layout[8];
  size_t users;
  Entry* next;
  Block* block;
  float* floats;

  bool is(const PackingKey& key, uint64_t key_hash) const {
    return name_size > 0 && std::string_view(name, name_size) == key.name && hash == key_hash && size == key.size &&
           bias_hash == key.bias_hash && std::memcmp(layout, key.layout, sizeof(layout)) == 0;
  }
};

uint64_t hash_of(const void* data, size_t size) {
  const uint8_t* bytes = static_cast<const uint8_t*>(data);
  uint64_t lanes[4] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x27d4eb2f165667c5u};
  const auto mix = [](uint64_t state, uint64_t word) {
    state = (state ^ word) * 0xff51afd7ed558ccdu;
    return state ^ (state >> 32);
  };
  size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + i, sizeof(words));
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = mix(lanes[lane], words[lane]);
  }
  uint64_t hash = size;
  for (; i < size; ++i) hash = mix(hash, bytes[i]);
  for (const uint64_t lane : lanes) hash = mix(hash, lane);
  return hash;
}

Result<PackedWeights> PackedWeights::get(const PackingKey& key, size_t count, void (*fill)(void*, float*),
                                         void* context) {
  const bool is_shared = !key.name.empty() && key.name.size() <= kMaxName;
  const uint64_t hash = is_shared ? hash_of(key.data, key.size) : 0;
  Registry& all = registry();
  // The lock is held while weights are packed, so that another method that needs the same weights waits for them.
  const platform::Lock lock(all.mutex);
  PackedWeights result;
  if (is_shared) {
    for (Entry* entry = static_cast<Entry*>(all.first); entry; entry = entry->next) {
      if (!entry->is(key, hash)) continue;
      ++entry->users;
      result.entry_ = entry;
      return result;
    }
  }
  constexpr size_t kHead = (sizeof(Entry) + 63) / 64 * 64;
  RL_REQUIRE(count <= SIZE_MAX / 2 / sizeof(float), MemoryAllocationFailed,
             "%zu packed weights exceed the address space", count);
  Block* block = nullptr;
  uint8_t* const memory = all.allocate(kHead + count * sizeof(float), &block);
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for %zu packed weights", count);
  Entry* entry = new (memory) Entry();
  entry->block = block;
  entry->name_size = is_shared ? key.name.size() : 0;
  if (is_shared) std::memcpy(entry->name, key.name.data(), entry->name_size);
  entry->hash = hash;
  entry->size = key.size;
  entry->bias_hash = key.bias_hash;
  std::memcpy(entry->layout, key.layout, sizeof(entry->layout));
  entry->users = 1;
  entry->floats = reinterpret_cast<float*>(memory + kHead);
  std::memset(entry->floats, 0, count * sizeof(float));
  fill(context, entry->floats);
  entry->next = static_cast<Entry*>(all.first);
  all.first = entry;
  ++all.count;
  result.entry_ = entry;
  return result;
}

PackedWeights& PackedWeights::operator=(PackedWeights&& other) noexcept {
  Entry* const entry = other.entry_;
  other.entry_ = entry_;
  entry_ = entry;
  return *this;
}

PackedWeights::~PackedWeights() {
  if (entry_ == nullptr) return;
  Registry& all = registry();
  const platform::Lock lock(all.mutex);
  if (--entry_->users > 0) return;
  if (all.first == entry_) {
    all.first = entry_->next;
  } else {
    Entry* before = static_cast<Entry*>(all.first);
    while (before->next != entry_) before = before->next;
    before->next = entry_->next;
  }
  --all.count;
  all.release(entry_->block);
}

const float* PackedWeights::floats() const { return entry_ ? entry_->floats : nullptr; }

size_t count_packed_weights() {
  Registry& all = registry();
  const platform::Lock lock(all.mutex);
  return all.count;
}

}  // namespace rushlight::xnnpack
