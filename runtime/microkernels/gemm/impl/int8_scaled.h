// Products of floats and int8 or int4 weights, in namespace rushlight::microkernels::RL_ISA, which defines the names
// that elementwise/impl/int8_loops.h needs. Weights are converted to float32 in registers, and each weight is read only
// once.
#pragma once

#include <cmath>

#include "microkernels/elementwise/impl/int8_loops.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/selected.h"

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

// The number of rows that are multiplied by a converted weight at a time.
inline constexpr int kScaledRows = kIsCompact ? 1 : 4;

// Computes the sums of one column for `Rows` rows of x.
template <bool Int4, int Rows>
static void scaled_dot(const ScaledDots& d, const float* const (&x)[Rows], const uint8_t* rhs, const float* scales,
                       float (&sums)[Rows]) {
  constexpr int kVectors = 32 / kLanes, kSums = Rows > 1 && kVectors > 2 ? 2 : kVectors;
  Reals total[Rows] = {};
  float rest[Rows] = {};
  int64_t at = 0;
  for (int64_t g = 0; g < d.groups; ++g, at += d.group) {
    Reals acc[Rows][kSums] = {};
    int64_t k = 0;
    for (; k + 32 <= d.group; k += 32) {
      const int8_t* numbers = reinterpret_cast<const int8_t*>(rhs) + k;
      int8_t unpacked[32];
      if constexpr (Int4) {
        unpack_int4(rhs + k / 2, unpacked);
        numbers = unpacked;
      }
      RL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const Reals weights = reals_of(numbers + v * kLanes);
        RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][v % kSums] += weights * load_reals(x[i] + at + k + v * kLanes);
      }
    }
    float tail[Rows] = {};
    for (; k < d.group; ++k) {
      const float weight = static_cast<float>(number_at<Int4>(rhs, k));
      RL_UNROLL for (int i = 0; i < Rows; ++i) tail[i] += weight * x[i][at + k];
    }
    RL_UNROLL for (int i = 0; i < Rows; ++i) {
      Reals sum = acc[i][0];
      RL_UNROLL for (int v = 1; v < kSums; ++v) sum += acc[i][v];
      total[i] += sum * scales[g];
      rest[i] += tail[i] * scales[g];
    }
    rhs += Int4 ? d.group / 2 : d.group;
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) sums[i] = total_of(total[i]) + rest[i];
}

// As above, but weights are scaled before they are multiplied. Sums then do not overflow if the scale makes the
// products small.
template <bool Int4>
[[gnu::cold]] static float real_dot(const ScaledDots& d, const float* x, const uint8_t* rhs, const float* scales) {
  float sum = 0;
  for (int64_t k = 0; k < d.groups * d.group; ++k) {
    sum += static_cast<float>(number_at<Int4>(rhs, k)) * scales[k / d.group] * x[k];
  }
  return sum;
}

// Computes the sums of up to `Rows` rows.
template <bool Int4, int Rows>
static void scaled_rows(const ScaledDots& d, int64_t rows, int64_t columns, const float* first, float* to) {
  const float* x[Rows];
  RL_UNROLL for (int i = 0; i < Rows; ++i) x[i] = first + (i < rows ? i : 0) * d.x_stride;
  for (int64_t j = 0; j < columns; ++j) {
    const uint8_t* const rhs = d.rhs + j * d.rhs_stride;
    const float* const scales = d.scales + j * d.scale_stride;
    float sums[Rows];
    scaled_dot<Int4, Rows>(d, x, rhs, scales, sums);
    for (int64_t i = 0; i < rows; ++i) {
      to[i * d.sums_stride + j] = std::isfinite(sums[i]) ? sums[i] : real_dot<Int4>(d, x[i], rhs, scales);
    }
  }
}

template <bool Int4>
static void scaled_dots_of(int64_t rows, int64_t columns, const ScaledDots& d) {
  for (int64_t i = 0; i < rows; i += kScaledRows) {
    const int64_t count = rows - i < kScaledRows ? rows - i : kScaledRows;
    const auto compute = count > 1 ? &scaled_rows<Int4, kScaledRows> : &scaled_rows<Int4, 1>;
    compute(d, count, columns, d.x + i * d.x_stride, d.sums + i * d.sums_stride);
  }
}

static void scaled_dots(int64_t rows, int64_t columns, const ScaledDots& d) {
  d.is_int4 ? scaled_dots_of<true>(rows, columns, d) : scaled_dots_of<false>(rows, columns, d);
}

}  // namespace rushlight::microkernels::RL_ISA
