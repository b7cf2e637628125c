// 3 x 3 depthwise convolutions with AVX2, in namespace rushlight::microkernels::RL_ISA, which defines the names that
// gemm/impl/int8_epilogue.h needs. 16 channels are computed at a time. Unpacking two pixels gives pairs of the channels
// 0 to 3 and 8 to 11 (part 0) and of the other channels (part 1). Narrowing the sums of both parts restores the order.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "microkernels/dwconv/impl/int8_pairs.h"
#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels::RL_ISA {

struct alignas(32) Block3x3 {
  struct Part16 {
    // The pairs of the first two lines for each column, the first two taps of the last line, and its last tap as the
    // first and as the second number of a pair.
    int16_t weights[6][2][16];
    int32_t correction[2][8];
    float multiplier[2][8], offset[2][8];
  } parts[kDepthwise3x3Channels / 16];
  int32_t zero, least, most;
};
static_assert(sizeof(Block3x3) <= kDepthwise3x3Bytes);

[[gnu::cold]] static void pack_depthwise_3x3(const Int8DepthwiseWeights& from, void* to) {
  Block3x3& b = *static_cast<Block3x3*>(to);
  std::memset(&b, 0, sizeof(b));
  b.zero = from.range->zero, b.least = from.range->least, b.most = from.range->most;
  for (int64_t channel = 0; channel < from.channels; ++channel) {
    Block3x3::Part16& part = b.parts[channel / 16];
    const int64_t p = channel / 4 % 2, lane = channel / 8 % 2 * 4 + channel % 4;
    int32_t sum = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int8_t weight = from.weights[tap * from.weight_stride + channel];
      const bool is_last_line = tap >= 6;
      const int64_t pair = is_last_line ? tap / 2 : tap % 3, second = is_last_line ? tap % 2 : tap / 3;
      part.weights[pair][p][2 * lane + second] = weight;
      if (tap == 8) part.weights[5][p][2 * lane + 1] = weight;
      sum += weight;
    }
    const int64_t exact = (from.bias ? from.bias[channel] : 0) - int64_t{from.zero} * sum;
    part.correction[p][lane] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
    part.multiplier[p][lane] = from.multiplier[channel];
    part.offset[p][lane] = from.offset ? from.offset[channel] : 0.0f;
  }
}

// Stores `count` of 16 bytes.
RL_INLINE void store_channels_of(int8_t* to, __m128i bytes, int64_t count) {
  if (count >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  int8_t stored[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(stored), bytes);
  if (count == 8) {
    std::memcpy(to, stored, 8);
  } else {
    std::memcpy(to, stored, static_cast<size_t>(count));
  }
}

// The pairs of two pixels. Named members stay in registers, other than arrays.
struct Pairs3x3 {
  __m256i low, high;
};
RL_INLINE Pairs3x3 paired_3x3(__m256i a, __m256i b) {
  return {_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
}

// Computes `count` <= 16 channels of one row of outputs. Pairs stay in registers for the next output.
template <int Stride>
static void row_3x3(const Int8Depthwise3x3& d, const int8_t* const* sources, int64_t channel, int64_t count,
                    const Block3x3::Part16* block, int8_t* out) {
  const Block3x3& shared = *static_cast<const Block3x3*>(d.block);
  const __m256i zero = _mm256_set1_epi16(static_cast<int16_t>(shared.zero));
  const __m128i least = _mm_set1_epi8(static_cast<char>(shared.least)),
                most = _mm_set1_epi8(static_cast<char>(shared.most));
  const int8_t* const* upper = sources;
  const int8_t* const* lower = upper + d.line;
  const int8_t* const* last = lower + d.line;
  const int64_t outputs = d.count, step = d.out_stride;

  const auto above = [&](int64_t column) {
    return paired_3x3(load_channels(upper[column] + channel), load_channels(lower[column] + channel));
  };
  Pairs3x3 first = above(0), second = Stride == 1 ? above(1) : first;
  __m256i here = load_channels(last[1] + channel);
  Pairs3x3 side = paired_3x3(load_channels(last[0] + channel), here);
  for (int64_t x = 0; x < outputs; ++x, upper += Stride, lower += Stride, last += Stride, out += step) {
    // Stops compilers from copying the parameters to the stack.
    asm volatile("" : "+r"(block));
    if constexpr (Stride == 2) second = above(1);
    const Pairs3x3 third = above(2);
    // At stride 1, the last tap is the second number of the pair that the next output reads first.
    const __m256i next = load_channels(last[2] + channel);
    const bool reads_next = Stride == 2 && x + 1 < outputs;
    const Pairs3x3 after = Stride == 1  ? paired_3x3(here, next)
                           : reads_next ? paired_3x3(next, load_channels(last[3] + channel))
                                        : paired_3x3(next, next);
    const auto results = [&](int p, __m256i a, __m256i b, __m256i c, __m256i e, __m256i f) {
      const __m256i one = _mm256_add_epi32(multiply_pairs(a, load_part(block->weights[0][p])),
                                           multiply_pairs(b, load_part(block->weights[1][p])));
      const __m256i two = _mm256_add_epi32(multiply_pairs(c, load_part(block->weights[2][p])),
                                           multiply_pairs(e, load_part(block->weights[3][p])));
      const __m256i three = _mm256_add_epi32(multiply_pairs(f, load_part(block->weights[Stride == 1 ? 5 : 4][p])),
                                             _mm256_load_si256(reinterpret_cast<const __m256i*>(block->correction[p])));
      const __m256 sums = _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_add_epi32(one, two), three));
      return rounded_reals(
          _mm256_fmadd_ps(sums, _mm256_load_ps(block->multiplier[p]), _mm256_load_ps(block->offset[p])));
    };
    const __m256i low = results(0, first.low, second.low, third.low, side.low, after.low);
    const __m256i high = results(1, first.high, second.high, third.high, side.high, after.high);
    const __m256i numbers = _mm256_adds_epi16(_mm256_packs_epi32(low, high), zero);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    store_channels_of(out, _mm_min_epi8(_mm_max_epi8(bytes, least), most), count);
    first = Stride == 1 ? second : third, second = third, side = after, here = next;
  }
}

static void depthwise_3x3(const Int8Depthwise3x3& d) {
  const Block3x3& block = *static_cast<const Block3x3*>(d.block);
  for (int64_t first = 0; first < d.channels; first += 16) {
    const int64_t count = std::min<int64_t>(16, d.channels - first), channel = d.channel + first;
    for (int64_t row = 0; row < d.rows; ++row) {
      const int8_t* const* const sources = d.sources + row * d.line;
      int8_t* const out = d.out + row * d.row_stride + first;
      const auto compute = d.stride == 1 ? &row_3x3<1> : &row_3x3<2>;
      compute(d, sources, channel, count, &block.parts[first / 16], out);
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
