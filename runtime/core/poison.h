#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rushlight/core/tensor.h"

namespace rushlight {

// With the CMake option RUSHLIGHT_POISON, planned memory is filled with a pattern ("poison") at the start of a run, and
// again at the start of each value's lifetime. A kernel that reads memory before it is written then computes wrong
// results, instead of results that are correct by chance.
#if defined(RUSHLIGHT_POISON)
inline constexpr bool kPoisons = true;
#else
inline constexpr bool kPoisons = false;
#endif

// Fills memory with NaN for floating-point and complex elements, and with the byte 0xab for others.
inline void poison(void* data, size_t size, ScalarType dtype) {
  if (!kPoisons || size == 0 || data == nullptr) return;
  std::memset(data, is_floating(dtype) || is_complex(dtype) ? 0xff : 0xab, size);
}

// Returns whether two ranges of bytes overlap.
inline bool overlap(const void* a, size_t a_size, const void* b, size_t b_size) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return a_size > 0 && b_size > 0 && first < second + b_size && second < first + a_size;
}

}  // namespace rushlight
