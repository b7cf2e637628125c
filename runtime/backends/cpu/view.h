#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rushlight/core/scalar_type.h"

namespace rushlight::cpu {

inline constexpr int kMaxRank = 8;
inline constexpr uint32_t kNone = UINT32_MAX;

// A strided view of a storage for the current sizes. Strides are in elements and never negative.
struct View {
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  uint8_t sign_mask = 0;  // for int8: number = byte XOR sign_mask; see Step::supports_unsigned()

  float* floats() const { return static_cast<float*>(data); }
  int64_t numel() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= sizes[i];
    return count;
  }
  bool has_sizes_of(const View& other) const {
    return rank == other.rank && std::equal(sizes, sizes + rank, other.sizes);
  }
  // Returns the offset of an element in the storage, relative to the first element, in elements. `index` counts the
  // elements of dimensions [begin, end) in row-major order; the indices of all other dimensions are 0.
  int64_t offset_of(int64_t index, int begin, int end) const {
    int64_t offset = 0;
    for (int i = end - 1; i >= begin; --i) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return offset;
  }
  // Whether one stride leads from each element of dimensions [begin, end) to the next. Sets `step` to this stride (0
  // for at most one element).
  bool is_uniform(int begin, int end, int64_t* step) const {
    *step = 0;
    int64_t expected = -1;
    for (int i = end - 1; i >= begin; --i) {
      if (sizes[i] == 1) continue;
      if (expected < 0) {
        *step = strides[i];
      } else if (strides[i] != expected) {
        return false;
      }
      expected = strides[i] * sizes[i];
    }
    return true;
  }
};

}  // namespace rushlight::cpu
