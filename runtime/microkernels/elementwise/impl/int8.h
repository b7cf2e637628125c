// Elementwise loops over quantized numbers that compilers vectorize, in namespace rushlight::microkernels::RL_ISA.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>

#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

// Returns round(x) + zero, with x clamped to [least, most]. Magnitudes of the bounds are less than 2^22. NaN becomes 0.
RL_INLINE uint8_t to_byte(float x, float least, float most, int32_t zero) {
  float bounded = x > least ? x : least;
  bounded = (bounded < most ? bounded : most) + kRounding;
  int32_t bits;
  std::memcpy(&bits, &bounded, sizeof(bits));
  return static_cast<uint8_t>(x == x ? bits - kRoundingBits + zero : 0);
}

static void quantize(const float* __restrict x, int64_t n, const Int8Range& range, float inverse,
                     uint8_t* __restrict to) {
  const float least = static_cast<float>(range.least - range.zero), most = static_cast<float>(range.most - range.zero);
  const int32_t zero = range.zero;
  for (int64_t i = 0; i < n; ++i) to[i] = to_byte(x[i] * inverse, least, most, zero);
}

static void dequantize_int8(const uint8_t* __restrict x, uint8_t sign_mask, int64_t n, float zero, float scale,
                            float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = (static_cast<float>(static_cast<int8_t>(x[i] ^ sign_mask)) - zero) * scale;
  }
}

// It is optimized for size.
[[gnu::cold]] static void dequantize_int4(const uint8_t* __restrict x, int64_t n, float zero, float scale,
                                          float* __restrict to) {
  int64_t i = 0;
#if defined(__AVX2__)
#if defined(__AVX512F__)
  const __m512 shift = _mm512_set1_ps(zero), factor = _mm512_set1_ps(scale);
#else
  const __m256 shift = _mm256_set1_ps(zero), factor = _mm256_set1_ps(scale);
#endif
  for (; i + 16 <= n / 2; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    const __m128i low = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
    const __m128i even = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low), eight);
    const __m128i odd = _mm_sub_epi8(_mm_and_si128(bytes, low), eight);
    const __m128i halves[] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
#if defined(__AVX512F__)
    RL_UNROLL for (int j = 0; j < 2; ++j) {
      // The forms with masks avoid warnings of GCC 12.
      const __m512 reals = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, halves[j]));
      _mm512_storeu_ps(to + 2 * i + 16 * j, _mm512_mul_ps(_mm512_sub_ps(reals, shift), factor));
    }
#else
    RL_UNROLL for (int j = 0; j < 4; ++j) {
      const __m128i eights = j % 2 == 0 ? halves[j / 2] : _mm_srli_si128(halves[j / 2], 8);
      const __m256 reals = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eights));
      _mm256_storeu_ps(to + 2 * i + 8 * j, _mm256_mul_ps(_mm256_sub_ps(reals, shift), factor));
    }
#endif
  }
#endif
  for (; i < n / 2; ++i) {
    const int32_t byte = x[i];
    to[2 * i] = (static_cast<float>((byte >> 4) - 8) - zero) * scale;
    to[2 * i + 1] = (static_cast<float>((byte & 15) - 8) - zero) * scale;
  }
}

static bool extremes(const float* x, int64_t n, float* least, float* most) {
  constexpr int kChains = 4;
  Reals low[kChains] = {}, high[kChains] = {};
  Lanes unordered{};
  int64_t i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
    RL_UNROLL for (int j = 0; j < kChains; ++j) {
      const Reals v = load_reals(x + i + j * kLanes);
      low[j] = smaller(v, low[j]);
      high[j] = larger(v, high[j]);
      unordered |= reinterpret_cast<Lanes>(v != v);
    }
  }
  float lowest = 0, highest = 0;
  int32_t is_unordered = 0;
  for (int l = 0; l < kLanes; ++l) {
    is_unordered |= unordered[l];
    for (int j = 0; j < kChains; ++j) {
      lowest = low[j][l] < lowest ? low[j][l] : lowest;
      highest = high[j][l] > highest ? high[j][l] : highest;
    }
  }
  for (; i < n; ++i) {
    lowest = x[i] < lowest ? x[i] : lowest;
    highest = x[i] > highest ? x[i] : highest;
    is_unordered |= x[i] != x[i];
  }
  *least = lowest, *most = highest;
  return is_unordered == 0;
}

template <typename Op>
RL_INLINE void combine(const Int8Operand& a, const Int8Operand& b, const Int8Range& range, float inverse, int64_t n,
                       uint8_t* to, const Op& op) {
  const float least = static_cast<float>(range.least - range.zero), most = static_cast<float>(range.most - range.zero);
  const int32_t zero = range.zero, a_zero = a.zero, b_zero = b.zero;
  const uint8_t a_sign_mask = a.sign_mask, b_sign_mask = b.sign_mask;
  const float a_scale = a.scale, b_scale = b.scale;
  const uint8_t *x = a.data, *y = b.data;
  const auto real_a = [=](uint8_t byte) {
    return static_cast<float>(static_cast<int32_t>(static_cast<int8_t>(byte ^ a_sign_mask)) - a_zero) * a_scale;
  };
  const auto real_b = [=](uint8_t byte) {
    return static_cast<float>(static_cast<int32_t>(static_cast<int8_t>(byte ^ b_sign_mask)) - b_zero) * b_scale;
  };
  // Results are first written to a buffer, because `to` may be the memory of an operand.
  constexpr int64_t kChunk = 512;
  uint8_t results[kChunk];
  const float fixed_a = real_a(x[0]), fixed_b = real_b(y[0]);
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t m = n - done < kChunk ? n - done : kChunk;
    if (a.step == 0) {
      for (int64_t i = 0; i < m; ++i) {
        results[i] = to_byte(op(fixed_a, real_b(y[done + i])) * inverse, least, most, zero);
      }
    } else if (b.step == 0) {
      for (int64_t i = 0; i < m; ++i) {
        results[i] = to_byte(op(real_a(x[done + i]), fixed_b) * inverse, least, most, zero);
      }
    } else {
      for (int64_t i = 0; i < m; ++i) {
        results[i] = to_byte(op(real_a(x[done + i]), real_b(y[done + i])) * inverse, least, most, zero);
      }
    }
    std::memcpy(to + done, results, static_cast<size_t>(m));
  }
}

static void combine(bool multiply, const Int8Operand& a, const Int8Operand& b, const Int8Range& range, float inverse,
                    int64_t n, uint8_t* to) {
  if (multiply) return combine(a, b, range, inverse, n, to, [](float x, float y) { return x * y; });
  combine(a, b, range, inverse, n, to, [](float x, float y) { return x + y; });
}

}  // namespace rushlight::microkernels::RL_ISA
