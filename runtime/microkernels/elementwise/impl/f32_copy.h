#pragma once

#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::RL_ISA {

// Returns elements 0, 2, 4, ... of `low` and `high`. Elements stay within their 128 bits; order_of_lanes() restores
// their order.
RL_INLINE Floats evens_in_lanes(Floats low, Floats high) {
#if RL_WIDTH == 4
  return __builtin_shufflevector(low, high, 0, 2, 4, 6);
#elif RL_WIDTH == 8
  return __builtin_shufflevector(low, high, 0, 2, 8, 10, 4, 6, 12, 14);
#else
  return __builtin_shufflevector(low, high, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
#endif
}
RL_INLINE Floats odds_in_lanes(Floats low, Floats high) {
#if RL_WIDTH == 4
  return __builtin_shufflevector(low, high, 1, 3, 5, 7);
#elif RL_WIDTH == 8
  return __builtin_shufflevector(low, high, 1, 3, 9, 11, 5, 7, 13, 15);
#else
  return __builtin_shufflevector(low, high, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
#endif
}
// Restores the order of elements after evens_in_lanes().
RL_INLINE Floats order_of_lanes(Floats v) {
#if RL_WIDTH == 4
  return v;
#elif RL_WIDTH == 8
  return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
#else
  return __builtin_shufflevector(v, v, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
#endif
}

// Return the first, or the last, kWidth elements of a[0], b[0], a[1], b[1], ...
RL_INLINE Floats interleave_low(Floats a, Floats b) {
#if RL_WIDTH == 4
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#elif RL_WIDTH == 8
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#endif
}
RL_INLINE Floats interleave_high(Floats a, Floats b) {
#if RL_WIDTH == 4
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#elif RL_WIDTH == 8
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#endif
}

// Copies to[i] = from[i] for i < n. For rows that are too short for a call of memcpy.
RL_INLINE void copy(const float* from, int64_t n, float* to) {
  if (n < kWidth) return copy_few(to, from, n);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(to + i, load(from + i));
  if (i < n) store(to + n - kWidth, load(from + n - kWidth));
}

RL_INLINE void fill(float value, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(to + i, splat(value));
  for (; i < n; ++i) to[i] = value;
}

// to[i] = from[i * stride], i < n.
static void copy_strided(const float* from, int64_t stride, int64_t n, float* to) {
  if (stride == 1) return copy(from, n, to);
  int64_t i = 0;
  if (stride == 2) {
    // A load of the last vector would read one float beyond the end.
    for (; i + kWidth < n; i += kWidth) {
      store(to + i, order_of_lanes(evens_in_lanes(load(from + 2 * i), load(from + 2 * i + kWidth))));
    }
  }
  for (; i < n; ++i) to[i] = from[i * stride];
}

}  // namespace rushlight::microkernels::RL_ISA
