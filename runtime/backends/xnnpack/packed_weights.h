#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/result.h"

namespace rushlight::xnnpack {

// Identifies packed weights by what they were made from, and how.
struct PackingKey {
  std::string_view name;  // of the named data; empty if the weights have none
  const void* data = nullptr;
  size_t size = 0;          // bytes of data
  uint64_t bias_hash = 0;   // of further data that is packed along
  uint64_t layout[8] = {};  // algorithm and extents
};

// Floats, packed once for all parts and methods of the process which use the same named data in the same way. Weights
// without a name are not shared.
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(PackedWeights&& other) noexcept : entry_(other.entry_) { other.entry_ = nullptr; }
  PackedWeights& operator=(PackedWeights&& other) noexcept;
  ~PackedWeights();

  // `fill(floats)` writes `count` zeroed floats, aligned to 64 bytes, unless they are there already.
  template <typename Fill>
  static Result<PackedWeights> get(const PackingKey& key, size_t count, const Fill& fill) {
    return get(
        key, count, [](void* context, float* to) { (*static_cast<const Fill*>(context))(to); },
        const_cast<Fill*>(&fill));
  }

  const float* floats() const;

 private:
  struct Entry;
  static Result<PackedWeights> get(const PackingKey& key, size_t count, void (*fill)(void*, float*), void* context);

  Entry* entry_ = nullptr;
};

// Returns a hash of a block of bytes. It does not resist deliberate collisions.
uint64_t hash_of(const void* data, size_t size);

// Returns the number of blocks of packed weights that exist now, for tests.
size_t count_packed_weights();

}  // namespace rushlight::xnnpack
