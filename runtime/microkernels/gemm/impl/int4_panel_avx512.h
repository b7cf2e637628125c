// Products of many rows with 4-bit numbers, in namespace rushlight::microkernels::RL_ISA. That namespace defines Sums,
// Rhs, Spread, load_rhs(), spread() and add_products() for AVX-512.
#pragma once

#include <immintrin.h>

#include <utility>

#include "microkernels/simd/inline.h"
#include "microkernels/simd/int8_results_avx512.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

static_assert(kInt4Panel == 2 * kLanes);

// The sums of all rows and columns, and those of one group, stay in registers.
template <int Rows>
static void int4_panel_tile(const Int4Panel& p, const uint8_t* lhs, float* sums) {
  __m512 total[Rows][2];
  RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < 2; ++j) total[i][j] = _mm512_setzero_ps();
  const int8_t* rhs = p.rhs;
  const int64_t stride = p.lhs_stride;
  for (int64_t g = 0; g < p.groups; ++g) {
    Sums part[Rows][2];
    RL_UNROLL for (int i = 0; i < Rows; ++i) RL_UNROLL for (int j = 0; j < 2; ++j) part[i][j] = Sums{};
    for (int64_t k = 0; k < p.group; k += 4, lhs += 4, rhs += 4 * kInt4Panel) {
      const Rhs first = load_rhs(rhs), second = load_rhs(rhs + 64);
      RL_UNROLL for (int i = 0; i < Rows; ++i) {
        const Spread x = spread(lhs + i * stride);
        add_products(part[i][0], x, first);
        add_products(part[i][1], x, second);
      }
    }
    RL_UNROLL for (int j = 0; j < 2; ++j) {
      const __m512 scale = _mm512_loadu_ps(p.scales + g * kInt4Panel + j * kLanes);
      RL_UNROLL for (int i = 0; i < Rows; ++i) {
        total[i][j] = _mm512_fmadd_ps(reals_of_sums(part[i][j]), scale, total[i][j]);
      }
    }
  }
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < 2; ++j) _mm512_storeu_ps(sums + i * kInt4Panel + j * kLanes, total[i][j]);
  }
}

template <int... I>
static void int4_panel_rows(int rows, const Int4Panel& p, const uint8_t* lhs, float* sums,
                            std::integer_sequence<int, I...>) {
  static constexpr void (*by_rows[])(const Int4Panel&, const uint8_t*, float*) = {&int4_panel_tile<I + 1>...};
  by_rows[rows - 1](p, lhs, sums);
}

static void int4_panel(int64_t rows, const Int4Panel& p) {
  constexpr int kRows = 6;
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t count = rows - i < kRows ? rows - i : kRows;
    int4_panel_rows(static_cast<int>(count), p, p.lhs + i * p.lhs_stride, p.sums + i * kInt4Panel,
                    std::make_integer_sequence<int, kRows>{});
  }
}

typedef uint32_t Words __attribute__((vector_size(64)));

// Returns 16 bytes of the four columns `first`, `first` + 4, `first` + 8 and `first` + 12.
RL_INLINE Words load_columns_apart(const uint8_t* const* columns, int first, int64_t at) {
  const auto bytes = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns[first + i] + at)); };
  __m512i words = _mm512_maskz_broadcast_i32x4(0x000f, bytes(0));
  words = _mm512_mask_broadcast_i32x4(words, 0x00f0, bytes(4));
  words = _mm512_mask_broadcast_i32x4(words, 0x0f00, bytes(8));
  return reinterpret_cast<Words>(_mm512_mask_broadcast_i32x4(words, 0xf000, bytes(12)));
}

// Returns the numbers in the low halves of the bytes.
RL_INLINE Words numbers_of(Words halves) {
  return (((halves & 0x0f0f0f0fu) | 0x80808080u) - 0x08080808u) ^ 0x80808080u;  // subtracts 8 from each byte
}

// Writes 32 numbers of 16 columns. They are 16 bytes in each column, whose high halves are the even indices, which
// pack_int4_lhs() puts first.
RL_INLINE void expand_block(const uint8_t* const* columns, int64_t at, int8_t* to) {
  const Words a = load_columns_apart(columns, 0, at), b = load_columns_apart(columns, 1, at);
  const Words c = load_columns_apart(columns, 2, at), d = load_columns_apart(columns, 3, at);
  const auto low = [](Words x, Words y) {
    return __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
  };
  const auto high = [](Words x, Words y) {
    return __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  };
  const auto low_pairs = [](Words x, Words y) {
    return __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  };
  const auto high_pairs = [](Words x, Words y) {
    return __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  };
  const Words quads[4] = {low_pairs(low(a, b), low(c, d)), high_pairs(low(a, b), low(c, d)),
                          low_pairs(high(a, b), high(c, d)), high_pairs(high(a, b), high(c, d))};
  RL_UNROLL for (int q = 0; q < 4; ++q) {
    const Words even = numbers_of(quads[q] >> 4), odd = numbers_of(quads[q]);
    _mm512_storeu_si512(to + q * 4 * kInt4Panel, reinterpret_cast<__m512i>(even));
    _mm512_storeu_si512(to + (q + 4) * 4 * kInt4Panel, reinterpret_cast<__m512i>(odd));
  }
}

// A column that does not exist has the numbers of the first one and the scale 0.
static void expand_int4(const Int4Dots& d, int64_t columns, int8_t* rhs, float* scales) {
  const uint8_t* from[kInt4Panel];
  for (int64_t j = 0; j < kInt4Panel; ++j) {
    const bool exists = j < columns;
    from[j] = d.rhs + (exists ? j : 0) * d.rhs_stride;
    for (int64_t g = 0; g < d.groups; ++g) scales[g * kInt4Panel + j] = exists ? d.scales[j * d.scale_stride + g] : 0;
  }
  for (int64_t k = 0; k < d.groups * d.group; k += 32) {
    for (int64_t j = 0; j < kInt4Panel; j += kLanes) expand_block(from + j, k / 2, rhs + k * kInt4Panel + j * 4);
  }
}

}  // namespace rushlight::microkernels::RL_ISA
