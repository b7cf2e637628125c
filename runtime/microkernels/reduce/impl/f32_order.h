// Integer keys that have the order of floats, and a search for keys above a bound. They are used to select the largest
// elements.
#pragma once

#include "microkernels/simd/math.h"

namespace rushlight::microkernels::RL_ISA {

// Both zeros have the same key; all NaNs have the largest key.
template <bool Largest>
RL_INLINE Ints order_key(Floats x) {
  const Ints bits = as_ints(x + 0.0f);
  const Ints keys = x != x ? splat_int(INT32_MAX) : bits ^ ((bits >> 31) & INT32_MAX);
  return Largest ? keys : ~keys;
}

template <bool Largest>
RL_INLINE void order_keys_by(const float* x, int64_t n, int64_t groups, int32_t* keys, int32_t* maxima) {
  const auto key_at = [&](int64_t i) {
    const Ints key = order_key<Largest>(load(x + i));
    *reinterpret_cast<UnalignedInts*>(keys + i) = key;
    return key;
  };
  const auto larger = [](Ints a, Ints b) { return a > b ? a : b; };
  for (int64_t g = 0; g < groups; g += kWidth) *reinterpret_cast<UnalignedInts*>(maxima + g) = splat_int(INT32_MIN);
  int64_t first = 0;
  for (; groups > 0 && first + 4 * groups <= n; first += 4 * groups) {
    for (int64_t g = 0; g < groups; g += kWidth) {
      UnalignedInts* const best = reinterpret_cast<UnalignedInts*>(maxima + g);
      const int64_t i = first + g;
      const Ints low = larger(key_at(i), key_at(i + groups));
      const Ints high = larger(key_at(i + 2 * groups), key_at(i + 3 * groups));
      *best = larger(*best, larger(low, high));
    }
  }
  // The remaining elements are in no group.
  for (; first + kWidth <= n; first += kWidth) key_at(first);
  if (first < n) {
    const Ints last = order_key<Largest>(load_few(x + first, n - first));
    for (int64_t i = first; i < n; ++i) keys[i] = last[i - first];
  }
}

static void order_keys(bool largest, const float* x, int64_t n, int64_t groups, int32_t* keys, int32_t* maxima) {
  if (largest) return order_keys_by<true>(x, n, groups, keys, maxima);
  order_keys_by<false>(x, n, groups, keys, maxima);
}

static int64_t find_keys(const int32_t* keys, int64_t n, int32_t least, int32_t* positions) {
  int64_t count = 0;
  const auto visit = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      positions[count] = static_cast<int32_t>(i);
      count += keys[i] >= least;
    }
  };
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Ints a = *reinterpret_cast<const UnalignedInts*>(keys + i);
    const Ints b = *reinterpret_cast<const UnalignedInts*>(keys + i + kWidth);
    if (any((a >= least) | (b >= least))) visit(i, i + 2 * kWidth);
  }
  visit(i, n);
  return count;
}

}  // namespace rushlight::microkernels::RL_ISA
