#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/result.h"

namespace rushlight::xnnpack {

// Identifies packed weights: the constant that they are packed from, and how they are packed.
struct PackingKey {
  std::string_view name;  // key of the named data; empty if the weights are not named data
  const void* data = nullptr;
  size_t size = 0;          // bytes of data
  uint64_t bias_hash = 0;   // hash of the bias or other data that is packed together with the weights
  uint64_t layout[8] = {};  // algorithm and sizes
};

// Packed float32 weights. If several delegates or methods of the process pack the same named data in the same way, they
// share one copy. Weights without a name are not shared.
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(PackedWeights&& other) noexcept : entry_(other.entry_) { other.entry_ = nullptr; }
  PackedWeights& operator=(PackedWeights&& other) noexcept;
  ~PackedWeights();

  // Returns the weights with this key. If there are none yet, allocates `count` zeros, aligned to 64 bytes, and calls
  // `fill(floats)` to write the packed weights there.
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

// Returns a hash of a block of bytes. It does not protect against deliberate collisions.
uint64_t hash_of(const void* data, size_t size);

// Returns the current number of blocks of packed weights, for tests.
size_t count_packed_weights();

}  // namespace rushlight::xnnpack
