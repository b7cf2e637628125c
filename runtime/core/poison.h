#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rushlight/core/tensor.h"

namespace rushlight {

// With the CMake option RUSHLIGHT_POISON, planned memory holds poison from the start of a run, and again from where the
// life of a value begins, until it is written: who reads memory that nobody wrote gets wrong results, not what lay
// there by luck.
#if defined(RUSHLIGHT_POISON)
inline constexpr bool kPoisons = true;
#else
inline constexpr bool kPoisons = false;
#endif

// NaN for floating and complex elements, 0xab in all bytes of others.
inline void poison(void* data, size_t size, ScalarType dtype) {
  if (!kPoisons || size == 0 || data == nullptr) return;
  std::memset(data, is_floating(dtype) || is_complex(dtype) ? 0xff : 0xab, size);
}

// Whether two ranges of bytes have some in common.
inline bool overlap(const void* a, size_t a_size, const void* b, size_t b_size) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return a_size > 0 && b_size > 0 && first < second + b_size && second < first + a_size;
}

}  // namespace rushlight
