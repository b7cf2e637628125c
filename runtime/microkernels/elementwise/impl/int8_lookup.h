// Functions of 8-bit numbers as tables of 256 entries, in namespace rushlight::microkernels::RL_ISA.
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

#if defined(__AVX2__)

#if defined(__AVX512BW__)
using TableBytes = __m512i;
RL_INLINE TableBytes load_bytes(const void* p) { return _mm512_loadu_si512(p); }
RL_INLINE void store_bytes(void* p, TableBytes x) { _mm512_storeu_si512(p, x); }
// The form with a mask avoids warnings of GCC 12.
RL_INLINE TableBytes repeat_16(__m128i x) { return _mm512_maskz_broadcast_i32x4(0xffff, x); }
RL_INLINE TableBytes shuffle(TableBytes entries, TableBytes index) { return _mm512_shuffle_epi8(entries, index); }
RL_INLINE TableBytes subtract_16(TableBytes x) { return _mm512_subs_epi8(x, _mm512_set1_epi8(16)); }
RL_INLINE TableBytes exclusive_or(TableBytes a, TableBytes b) { return _mm512_xor_si512(a, b); }
RL_INLINE TableBytes flip_high_bits(TableBytes x) { return _mm512_xor_si512(x, _mm512_set1_epi8(-128)); }
#else
using TableBytes = __m256i;
RL_INLINE TableBytes load_bytes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
RL_INLINE void store_bytes(void* p, TableBytes x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
RL_INLINE TableBytes repeat_16(__m128i x) { return _mm256_broadcastsi128_si256(x); }
RL_INLINE TableBytes shuffle(TableBytes entries, TableBytes index) { return _mm256_shuffle_epi8(entries, index); }
RL_INLINE TableBytes subtract_16(TableBytes x) { return _mm256_subs_epi8(x, _mm256_set1_epi8(16)); }
RL_INLINE TableBytes exclusive_or(TableBytes a, TableBytes b) { return _mm256_xor_si256(a, b); }
RL_INLINE TableBytes flip_high_bits(TableBytes x) { return _mm256_xor_si256(x, _mm256_set1_epi8(-128)); }
#endif

// A shuffle selects one of 16 entries by the low four bits of an index, or 0 if the index is negative. Index i of a
// half of the table (i < 128) is reduced by 16 until it is negative. The shuffles before that add up to the right
// entry, because row r of `rows` is the exclusive or of rows r and r - 1 of the table. The subtraction saturates, so
// that negative numbers, which are indices of the other half, remain negative.
struct Table {
  TableBytes rows[16];

  explicit Table(const int8_t* entries) {
    for (int r = 0; r < 16; ++r) {
      __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(entries + 16 * r));
      if (r % 8 > 0) {
        row = _mm_xor_si128(row, _mm_loadu_si128(reinterpret_cast<const __m128i*>(entries + 16 * (r - 1))));
      }
      rows[r] = repeat_16(row);
    }
  }
  RL_MEMBER TableBytes of(TableBytes x) const {
    TableBytes y = flip_high_bits(x);
    TableBytes low = shuffle(rows[0], x), high = shuffle(rows[8], y);
    RL_UNROLL for (int r = 1; r < 8; ++r) {
      x = subtract_16(x), y = subtract_16(y);
      low = exclusive_or(low, shuffle(rows[r], x));
      high = exclusive_or(high, shuffle(rows[8 + r], y));
    }
    return exclusive_or(low, high);
  }
};

#elif defined(__aarch64__)

using TableBytes = uint8x16_t;
RL_INLINE TableBytes load_bytes(const void* p) { return vld1q_u8(static_cast<const uint8_t*>(p)); }
RL_INLINE void store_bytes(void* p, TableBytes x) { vst1q_u8(static_cast<uint8_t*>(p), x); }

struct Table {
  uint8x16x4_t quarters[4];

  explicit Table(const int8_t* entries) {
    for (int q = 0; q < 4; ++q) {
      for (int r = 0; r < 4; ++r) quarters[q].val[r] = load_bytes(entries + 64 * q + 16 * r);
    }
  }
  // An index beyond the 64 entries of a quarter leaves a number unchanged.
  RL_MEMBER TableBytes of(TableBytes x) const {
    TableBytes numbers = vqtbl4q_u8(quarters[0], x);
    RL_UNROLL for (int q = 1; q < 4; ++q) {
      numbers = vqtbx4q_u8(numbers, quarters[q], vsubq_u8(x, vdupq_n_u8(static_cast<uint8_t>(64 * q))));
    }
    return numbers;
  }
};

#endif

#if defined(__AVX2__) || defined(__aarch64__)

static void look_up(const uint8_t* from, const int8_t* entries, int64_t n, int8_t* to) {
  constexpr int64_t kBytes = sizeof(TableBytes);
  const Table table(entries);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) store_bytes(to + i, table.of(load_bytes(from + i)));
  if (i == n) return;
  uint8_t rest[kBytes] = {};
  std::memcpy(rest, from + i, static_cast<size_t>(n - i));
  store_bytes(rest, table.of(load_bytes(rest)));
  std::memcpy(to + i, rest, static_cast<size_t>(n - i));
}

#else

static void look_up(const uint8_t* from, const int8_t* entries, int64_t n, int8_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = entries[from[i]];
}

#endif

}  // namespace rushlight::microkernels::RL_ISA
