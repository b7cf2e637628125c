// Products of pairs of taps for int8 depthwise convolutions, in namespace rushlight::microkernels::RL_ISA. Defines
// RL_PAIRS if the instruction set has them.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstdint>
#include <cstring>

#include "microkernels/simd/inline.h"

namespace rushlight::microkernels::RL_ISA {

// A block of 16 channels is computed in kPasses passes over the outputs, so that the operands of a pass fit into the
// registers.
//   Channels  the numbers of a pixel in the channels of a pass
//   Part      pairs of int16, one pair for each channel: the numbers of two taps, or their weights
//   PartSums  the int32 sums of the channels of a part
// kParts parts contain the pairs of a pass. shift_pairs() returns the pair (0, a) for each pair (a, b).
#if defined(__AVX512BW__)

#define RL_PAIRS
using Channels = __m128i;
using Part = __m512i;
using PartSums = __m512i;
inline constexpr int kPasses = 1, kParts = 1;

RL_INLINE Channels load_channels(const int8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) {
  const __m256i low = _mm256_castsi128_si256(_mm_unpacklo_epi8(a, b));
  pairs[0] = _mm512_cvtepi8_epi16(_mm256_inserti128_si256(low, _mm_unpackhi_epi8(a, b), 1));
}
RL_INLINE PartSums multiply_pairs(Part a, Part b) { return _mm512_madd_epi16(a, b); }
RL_INLINE PartSums add_parts(PartSums a, PartSums b) { return _mm512_add_epi32(a, b); }
RL_INLINE Part shift_pairs(Part pairs) { return _mm512_maskz_slli_epi32(0xffff, pairs, 16); }
RL_INLINE void store_channels(int32_t* to, const PartSums (&sums)[kParts]) { _mm512_storeu_si512(to, sums[0]); }

#elif defined(__AVX2__)

#define RL_PAIRS
using Channels = __m256i;
using Part = __m256i;
using PartSums = __m256i;
inline constexpr int kPasses = 1, kParts = 2;

RL_INLINE Channels load_channels(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) {
  pairs[0] = _mm256_unpacklo_epi16(a, b);
  pairs[1] = _mm256_unpackhi_epi16(a, b);
}
RL_INLINE PartSums multiply_pairs(Part a, Part b) { return _mm256_madd_epi16(a, b); }
RL_INLINE PartSums add_parts(PartSums a, PartSums b) { return _mm256_add_epi32(a, b); }
RL_INLINE Part shift_pairs(Part pairs) { return _mm256_slli_epi32(pairs, 16); }
RL_INLINE void store_channels(int32_t* to, const PartSums (&sums)[kParts]) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute2x128_si256(sums[0], sums[1], 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), _mm256_permute2x128_si256(sums[0], sums[1], 0x31));
}

#elif defined(__aarch64__)

#define RL_PAIRS
using Channels = int8x8_t;
struct Part {
  int16x8_t first, second;
};
struct PartSums {
  int32x4_t low, high;
};
inline constexpr int kPasses = 2, kParts = 1;

RL_INLINE Channels load_channels(const int8_t* from) { return vld1_s8(from); }
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) { pairs[0] = {vmovl_s8(a), vmovl_s8(b)}; }
RL_INLINE void add_pairs(PartSums& sums, const Part& a, const Part& b) {
  sums.low = vmlal_s16(sums.low, vget_low_s16(a.first), vget_low_s16(b.first));
  sums.high = vmlal_high_s16(sums.high, a.first, b.first);
  sums.low = vmlal_s16(sums.low, vget_low_s16(a.second), vget_low_s16(b.second));
  sums.high = vmlal_high_s16(sums.high, a.second, b.second);
}
RL_INLINE PartSums multiply_pairs(const Part& a, const Part& b) {
  PartSums sums = {vmull_s16(vget_low_s16(a.first), vget_low_s16(b.first)), vmull_high_s16(a.first, b.first)};
  sums.low = vmlal_s16(sums.low, vget_low_s16(a.second), vget_low_s16(b.second));
  sums.high = vmlal_high_s16(sums.high, a.second, b.second);
  return sums;
}
RL_INLINE Part shift_pairs(const Part& pairs) { return {vdupq_n_s16(0), pairs.first}; }
RL_INLINE void store_channels(int32_t* to, const PartSums (&sums)[kParts]) {
  vst1q_s32(to, sums[0].low);
  vst1q_s32(to + 4, sums[0].high);
}

#elif defined(__wasm_simd128__)

#define RL_PAIRS
typedef int8_t Channels __attribute__((vector_size(8)));
typedef int16_t Part __attribute__((vector_size(16)));
typedef int32_t PartSums __attribute__((vector_size(16)));
inline constexpr int kPasses = 2, kParts = 2;

RL_INLINE Channels load_channels(const int8_t* from) {
  Channels channels;
  std::memcpy(&channels, from, sizeof(channels));
  return channels;
}
RL_INLINE void pair_up(Channels a, Channels b, Part (&pairs)[kParts]) {
  typedef int8_t Bytes __attribute__((vector_size(16)));
  const Bytes all = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  pairs[0] = __builtin_convertvector(__builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7), Part);
  pairs[1] = __builtin_convertvector(__builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15), Part);
}
RL_INLINE PartSums multiply_pairs(Part a, Part b) { return __builtin_wasm_dot_s_i32x4_i16x8(a, b); }
RL_INLINE PartSums add_parts(PartSums a, PartSums b) { return a + b; }
RL_INLINE Part shift_pairs(Part pairs) { return reinterpret_cast<Part>(reinterpret_cast<PartSums>(pairs) << 16); }
RL_INLINE void store_channels(int32_t* to, const PartSums (&sums)[kParts]) { std::memcpy(to, sums, sizeof(sums)); }

#else

inline constexpr int kPasses = 1;

#endif

// The channels and the int16 numbers of pairs in a pass.
inline constexpr int kPassChannels = 16 / kPasses, kPassNumbers = 32 / kPasses;

#if defined(RL_PAIRS)

inline constexpr int kPartNumbers = kPassNumbers / kParts;

#if !defined(__aarch64__)
RL_INLINE void add_pairs(PartSums& sums, Part a, Part b) { sums = add_parts(sums, multiply_pairs(a, b)); }
#endif

// Pairs are aligned to 32 bytes.
RL_INLINE Part load_part(const int16_t* from) {
  if constexpr (sizeof(Part) == 32) return *reinterpret_cast<const Part*>(from);
  Part part;
  std::memcpy(&part, from, sizeof(part));
  return part;
}
RL_INLINE void store_pairs(int16_t* to, const Part (&pairs)[kParts]) {
  RL_UNROLL for (int p = 0; p < kParts; ++p) std::memcpy(to + kPartNumbers * p, &pairs[p], sizeof(Part));
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
