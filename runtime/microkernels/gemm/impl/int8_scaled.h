// Products of floats and int8 or int4 weights, in namespace rushlight::microkernels::RL_ISA, which defines the names
// that elementwise/impl/int8_loops.h needs. Weights are converted to float32 in registers, and each weight is read only
// once.
#pragma once

#include <cstring>

#include "microkernels/elementwise/impl/int8_loops.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

RL_INLINE float total_of(const Reals& x) {
  typedef float Four __attribute__((vector_size(16)));
  Four parts[kLanes / 4], sum = {};
  std::memcpy(parts, &x, sizeof(parts));
  RL_UNROLL for (int i = 0; i < kLanes / 4; ++i) sum += parts[i];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// Adds the totals of `columns` of the vectors [rows, step] to the sums.
RL_ONCE_STATIC void add_totals(const Reals* vectors, int rows, int step, int64_t columns, float* sums,
                               int64_t sums_stride) {
  for (int i = 0; i < rows; ++i, vectors += step, sums += sums_stride) {
    for (int64_t j = 0; j < columns; ++j) sums[j] += total_of(vectors[j]);
  }
}

RL_INLINE int number_at(const uint8_t* rhs, bool is_int4, int64_t k) {
  if (is_int4) return (k % 2 == 0 ? rhs[k / 2] >> 4 : rhs[k / 2] & 15) - 8;
  return static_cast<int8_t>(rhs[k]);
}

RL_INLINE Lanes widen_unsigned(const uint8_t* p) {
#if defined(__AVX512BW__)
  return Lanes(_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return Lanes(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return widen(reinterpret_cast<const int8_t*>(p)) & 255;
#endif
}

// Returns (numbers - 8) * scale with one rounding.
RL_INLINE Reals scaled_int4(Lanes numbers, Reals scale) {
#if defined(__AVX2__)
  return multiply_add(__builtin_convertvector(numbers, Reals), scale, scale * -8.0f);
#else
  return __builtin_convertvector(numbers - 8, Reals) * scale;
#endif
}

// Converts and scales two vectors of a block: vectors v and v + kHalf in the order of x. 0 <= v < kHalf.
inline constexpr int kHalf = kScaledBlock / kLanes / 2;
template <bool Int4>
RL_INLINE void load_scaled(const uint8_t* rhs, int v, Reals scale, Reals (&weights)[2]) {
  if constexpr (Int4) {
    const Lanes bytes = widen_unsigned(rhs + v * kLanes);
    weights[0] = scaled_int4(bytes >> 4, scale);
    weights[1] = scaled_int4(bytes & 15, scale);
  } else {
    const int8_t* const numbers = reinterpret_cast<const int8_t*>(rhs) + v * kLanes;
    weights[0] = __builtin_convertvector(widen(numbers), Reals) * scale;
    weights[1] = __builtin_convertvector(widen(numbers + kHalf * kLanes), Reals) * scale;
  }
}

// Adds the products of `count` terms of a column, one at a time.
template <bool Int4>
[[gnu::cold]] static __attribute__((noinline)) void add_scaled_terms(const float* x, int64_t rows, const uint8_t* rhs,
                                                                     int64_t count, float scale, float* sums,
                                                                     int64_t sums_stride) {
  for (int64_t i = 0; i < rows; ++i, x += count) {
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += static_cast<float>(number_at(rhs, Int4, k)) * scale * x[k];
    sums[i * sums_stride] += sum;
  }
}

// Adds the products of `Rows` rows and `columns` columns, at most `Columns`, to the sums. Weights are scaled before
// they are multiplied, so that the products do not overflow if the scale makes them small.
template <bool Int4, int Rows, int Columns>
RL_INLINE void add_scaled_tile(const ScaledDots& dots, int64_t columns, const uint8_t* rhs, const float* scales,
                               float* sums) {
  const ScaledColumns& d = dots.rhs;
  constexpr int kChains = Rows == 1 ? 2 : 1;
  constexpr int kBytes = Int4 ? kScaledBlock / 2 : kScaledBlock;
  // Missing columns are computed as copies of the first column.
  const int64_t rhs_step = columns == Columns ? d.stride : 0, scale_step = columns == Columns ? d.scale_stride : 0;
  const float* x = dots.x;
  Reals acc[Rows][Columns][kChains] = {};
  for (int64_t k = 0, end = d.left; k < d.terms; k = end, end += d.group, ++scales) {
    int64_t count = (end < d.terms ? end : d.terms) - k;
    Reals scale[Columns];
    RL_UNROLL for (int j = 0; j < Columns; ++j) scale[j] = scales[j * scale_step] - Reals{};
    for (; count >= kScaledBlock; count -= kScaledBlock, x += Rows * kScaledBlock, rhs += kBytes) {
      // The numbers of the next columns, which are too far away for hardware prefetchers.
      RL_UNROLL for (int j = 0; j < Columns; ++j) __builtin_prefetch(rhs + (Columns + j) * d.stride);
      RL_UNROLL for (int v = 0; v < kHalf; ++v) {
        Reals weights[Columns][2];
        RL_UNROLL for (int j = 0; j < Columns; ++j) load_scaled<Int4>(rhs + j * rhs_step, v, scale[j], weights[j]);
        RL_UNROLL for (int h = 0; h < 2; ++h) {
          RL_UNROLL for (int i = 0; i < Rows; ++i) {
            const Reals row = load_reals(x + i * kScaledBlock + (v + h * kHalf) * kLanes);
            RL_UNROLL for (int j = 0; j < Columns; ++j) {
              acc[i][j][h % kChains] = multiply_add(weights[j][h], row, acc[i][j][h % kChains]);
            }
          }
        }
      }
    }
    if (count == 0) continue;
    for (int64_t j = 0; j < columns; ++j) {
      add_scaled_terms<Int4>(x, Rows, rhs + j * rhs_step, count, scales[j * scale_step], sums + j, dots.sums_stride);
    }
    x += Rows * count, rhs += Int4 ? count / 2 : count;
  }
  Reals results[Rows][Columns];
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Columns; ++j) {
      RL_UNROLL for (int c = 1; c < kChains; ++c) acc[i][j][0] += acc[i][j][c];
      results[i][j] = acc[i][j][0];
    }
  }
  add_totals(results[0], Rows, Columns, columns, sums, dots.sums_stride);
}

template <bool Int4, int Rows>
static void add_scaled_columns(const ScaledDots& dots) {
  constexpr int kColumns = Rows < 8 ? 2 : 1;
  const ScaledColumns& d = dots.rhs;
  for (int64_t j = 0; j < d.columns; j += kColumns) {
    const int64_t count = d.columns - j < kColumns ? d.columns - j : kColumns;
    add_scaled_tile<Int4, Rows, kColumns>(dots, count, d.numbers + j * d.stride, d.scales + j * d.scale_stride,
                                          dots.sums + j);
  }
}

template <bool Int4>
static void add_scaled_rows(int rows, const ScaledDots& dots) {
  if constexpr (!kIsCompact) {
    if (rows == 8) return add_scaled_columns<Int4, 8>(dots);
    if (rows == 4) return add_scaled_columns<Int4, 4>(dots);
  }
  add_scaled_columns<Int4, 1>(dots);
}

static void add_scaled_dots(int rows, const ScaledDots& dots) {
  dots.rhs.is_int4 ? add_scaled_rows<true>(rows, dots) : add_scaled_rows<false>(rows, dots);
}

typedef uint8_t Bytes __attribute__((vector_size(16)));
inline constexpr int kTransposed = kLanes < 8 ? 8 : kLanes;  // columns that are transposed together

// Transposes [8, 16] bytes to 16 rows of 8 bytes. A vector contains two rows.
RL_INLINE void transpose_bytes(const uint8_t* const (&from)[8], Bytes (&rows)[8]) {
  RL_UNROLL for (int i = 0; i < 8; ++i) std::memcpy(&rows[i], from[i], sizeof(Bytes));
  RL_UNROLL for (int level = 0; level < 3; ++level) {
    Bytes next[8];
    RL_UNROLL for (int i = 0; i < 4; ++i) {
      const Bytes a = rows[i], b = rows[i + 4];
      next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    RL_UNROLL for (int i = 0; i < 8; ++i) rows[i] = next[i];
  }
}

// Transposes 16 bytes of each of kTransposed columns to 16 rows.
RL_INLINE void transpose_columns(const uint8_t* const (&from)[kTransposed], uint8_t* to) {
  Bytes rows[kTransposed / 8][8];
  RL_UNROLL for (int c = 0; c < kTransposed / 8; ++c) {
    transpose_bytes(*reinterpret_cast<const uint8_t* const(*)[8]>(from + 8 * c), rows[c]);
  }
  RL_UNROLL for (int i = 0; i < 8; ++i, to += 2 * kTransposed) {
    if constexpr (kTransposed == 16) {
      // A processor cannot forward two stores of 8 bytes to one load of 16 bytes.
      const Bytes a = rows[0][i], b = rows[1][i];
      const Bytes first = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const Bytes second = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      std::memcpy(to, &first, sizeof(Bytes));
      std::memcpy(to + kTransposed, &second, sizeof(Bytes));
    } else {
      std::memcpy(to, &rows[0][i], sizeof(Bytes));
    }
  }
}

// Dequantizes 16 bytes of each of kTransposed columns, which share the scale of the column. Writes a row of kTransposed
// floats for each term; rows are `width` floats apart.
template <bool Int4>
RL_ONCE_STATIC void dequantize_terms(const uint8_t* const (&from)[kTransposed], const float* scales, int64_t width,
                                     float* to) {
  uint8_t bytes[16 * kTransposed];
  transpose_columns(from, bytes);
  for (int i = 0; i < 16; ++i, to += Int4 ? 2 * width : width) {
    RL_UNROLL for (int v = 0; v < kTransposed; v += kLanes) {
      const Reals scale = load_reals(scales + v);
      const uint8_t* const at = bytes + i * kTransposed + v;
      LooseReals* const first = reinterpret_cast<LooseReals*>(to + v);
      if constexpr (Int4) {
        const Lanes both = widen_unsigned(at);
        *first = scaled_int4(both >> 4, scale);
        *reinterpret_cast<LooseReals*>(to + width + v) = scaled_int4(both & 15, scale);
      } else {
        *first = __builtin_convertvector(widen(reinterpret_cast<const int8_t*>(at)), Reals) * scale;
      }
    }
  }
}

// Dequantizes columns [first, first + kTransposed), or fewer at the end of the panel. It is optimized for size.
[[gnu::cold]] static void dequantize_columns(const ScaledColumns& d, int64_t first, int64_t width, float* to) {
  const int64_t block = d.is_int4 ? 32 : 16;
  const int64_t n = width - first < kTransposed ? width - first : kTransposed;
  // Missing columns are copies of the first one with the scale 0.
  const uint8_t* from[kTransposed];
  float scales[kTransposed] = {};
  const auto advance = [&](int64_t bytes) {
    for (int j = 0; j < kTransposed; ++j) from[j] += bytes;
  };
  for (int j = 0; j < kTransposed; ++j) from[j] = d.numbers + (first + j < d.columns ? first + j : 0) * d.stride;
  for (int64_t k = 0, end = d.left, group = 0; k < d.terms; end += d.group, ++group) {
    const int64_t last = end < d.terms ? end : d.terms;
    for (int j = 0; j < kTransposed && first + j < d.columns; ++j) {
      scales[j] = d.scales[(first + j) * d.scale_stride + group];
    }
    for (; k + block <= last; k += block, to += block * width) {
      float part[32 * kTransposed];
      const int64_t step = n < kTransposed ? kTransposed : width;
      (d.is_int4 ? &dequantize_terms<true> : &dequantize_terms<false>)(from, scales, step, step == width ? to : part);
      advance(16);
      for (int64_t i = 0; step != width && i < block; ++i) {
        std::memcpy(to + i * width, part + i * kTransposed, static_cast<size_t>(n) * sizeof(float));
      }
    }
    const int64_t rest = last - k;
    for (int64_t i = 0; i < rest; ++i, to += width) {
      for (int j = 0; j < n; ++j) to[j] = static_cast<float>(number_at(from[j], d.is_int4, i)) * scales[j];
    }
    advance(d.is_int4 ? rest / 2 : rest);
    k = last;
  }
}

static void dequantize_panel(const ScaledColumns& panel, int64_t width, float* to) {
  for (int64_t j = 0; j < width; j += kTransposed) dequantize_columns(panel, j, width, to + j);
}

}  // namespace rushlight::microkernels::RL_ISA
