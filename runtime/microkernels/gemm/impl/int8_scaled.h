// Products of floats and int8 or int4 weights, in namespace rushlight::microkernels::RL_ISA, which defines the names
// that elementwise/impl/int8_loops.h needs. Weights are converted to float32 in registers, and each weight is read only
// once.
#pragma once

#include <cmath>

#include "microkernels/elementwise/impl/int8_loops.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

RL_INLINE float total_of(const Reals& x) {
  float sum = 0;
  RL_UNROLL for (int l = 0; l < kLanes; ++l) sum += x[l];
  return sum;
}

RL_INLINE Reals reals_of(const int8_t* numbers) { return __builtin_convertvector(widen(numbers), Reals); }

// Unpacks 32 numbers of 4 bits, in order.
RL_INLINE void unpack_int4(const uint8_t* from, int8_t* to) {
#if defined(__AVX2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i low = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
  const __m128i even = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low), eight);
  const __m128i odd = _mm_sub_epi8(_mm_and_si128(bytes, low), eight);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi8(even, odd));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), _mm_unpackhi_epi8(even, odd));
#else
  for (int i = 0; i < 16; ++i) {
    to[2 * i] = static_cast<int8_t>((from[i] >> 4) - 8);
    to[2 * i + 1] = static_cast<int8_t>((from[i] & 15) - 8);
  }
#endif
}

template <bool Int4>
RL_INLINE int number_at(const uint8_t* rhs, int64_t k) {
  if constexpr (Int4) return (k % 2 == 0 ? rhs[k / 2] >> 4 : rhs[k / 2] & 15) - 8;
  return static_cast<int8_t>(rhs[k]);
}

template <bool Int4>
static float scaled_dot(const ScaledDots& d, const uint8_t* rhs, const float* scales) {
  constexpr int kVectors = 32 / kLanes;
  Reals total{};
  float rest = 0;
  const float* x = d.x;
  for (int64_t g = 0; g < d.groups; ++g) {
    Reals acc[kVectors] = {};
    int64_t k = 0;
    for (; k + 32 <= d.group; k += 32) {
      const int8_t* numbers = reinterpret_cast<const int8_t*>(rhs) + k;
      int8_t unpacked[32];
      if constexpr (Int4) {
        unpack_int4(rhs + k / 2, unpacked);
        numbers = unpacked;
      }
      RL_UNROLL for (int v = 0; v < kVectors; ++v) {
        acc[v] += reals_of(numbers + v * kLanes) * load_reals(x + k + v * kLanes);
      }
    }
    float tail = 0;
    for (; k < d.group; ++k) tail += static_cast<float>(number_at<Int4>(rhs, k)) * x[k];
    Reals sum = acc[0];
    RL_UNROLL for (int v = 1; v < kVectors; ++v) sum += acc[v];
    total += sum * scales[g];
    rest += tail * scales[g];
    x += d.group;
    rhs += Int4 ? d.group / 2 : d.group;
  }
  return total_of(total) + rest;
}

// As above, but weights are scaled before they are multiplied. Sums then do not overflow if the scale makes the
// products small.
template <bool Int4>
static float real_dot(const ScaledDots& d, const uint8_t* rhs, const float* scales) {
  float sum = 0;
  for (int64_t k = 0; k < d.groups * d.group; ++k) {
    sum += static_cast<float>(number_at<Int4>(rhs, k)) * scales[k / d.group] * d.x[k];
  }
  return sum;
}

static void scaled_dots(int64_t columns, const ScaledDots& d) {
  for (int64_t j = 0; j < columns; ++j) {
    const uint8_t* const rhs = d.rhs + j * d.rhs_stride;
    const float* const scales = d.scales + j * d.scale_stride;
    d.sums[j] = d.is_int4 ? scaled_dot<true>(d, rhs, scales) : scaled_dot<false>(d, rhs, scales);
    if (std::isfinite(d.sums[j])) continue;
    d.sums[j] = d.is_int4 ? real_dot<true>(d, rhs, scales) : real_dot<false>(d, rhs, scales);
  }
}

}  // namespace rushlight::microkernels::RL_ISA
