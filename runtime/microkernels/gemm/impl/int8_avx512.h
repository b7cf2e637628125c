// Int8 tiles with AVX-512 that apply the epilogue in registers, in namespace rushlight::microkernels::RL_ISA. kLanes is
// 16, and a number of the LHS is one byte. tables/impl/int8.h includes this file.
#pragma once

#include <utility>

#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/gemm/impl/int8_pipelined_avx512.h"
#include "microkernels/simd/inline.h"
#include "microkernels/simd/int8_results_avx512.h"
#include "microkernels/tables/int8.h"
#include "microkernels/tables/tile_parts.h"

namespace rushlight::microkernels::RL_ISA {

// As add_groups(), with prefetching. Rows are addressed in two halves, which needs fewer registers. Windows: a row
// consists of several runs. Without the loop over runs, compilers allocate registers better.
template <bool Windows, int Rows, int Vectors>
RL_INLINE void add_columns(Sums (&acc)[Rows][Vectors], const Int8Tile& t) {
  constexpr int kUpper = (Rows + 1) / 2;
  const int64_t stride = t.lhs_stride, runs = Windows ? t.runs : 1;
  const Lhs *upper = static_cast<const Lhs*>(t.lhs), *lower = upper + t.half_step;
  const int8_t *rhs = t.rhs, *ahead = t.ahead;
  for (int64_t run = 0; run < runs; ++run) {
    for (int64_t g = 0; g < t.groups; ++g) {
      Rhs column[Vectors];
      RL_UNROLL for (int j = 0; j < Vectors; ++j) column[j] = load_rhs(rhs + j * kLanes * kGroup);
      RL_UNROLL for (int i = 0; i < Rows; ++i) {
        const Spread x = spread(i < kUpper ? upper + i * stride : lower + (i - kUpper) * stride);
        RL_UNROLL for (int j = 0; j < Vectors; ++j) add_products(acc[i][j], x, column[j]);
      }
      __builtin_prefetch(ahead, 0, 2);
      ahead += t.ahead_step;
      upper += kGroup, lower += kGroup;
      rhs += Vectors * kLanes * kGroup;
    }
    upper += t.run_step - t.groups * kGroup, lower += t.run_step - t.groups * kGroup;
  }
  // Stops compilers from choosing registers for the epilogue and copying sums within the loop.
  RL_UNROLL for (int i = 0; i < Rows; ++i) {
    RL_UNROLL for (int j = 0; j < Vectors; ++j) {
      Sums done;
      asm("" : "=v"(done) : "0"(acc[i][j]));
      acc[i][j] = done;
    }
  }
}

// Applies the epilogue to rows [first, first + Count) of the sums in registers. `others` and `to` are the addresses for
// these rows.
template <int Count, bool Summed, int Rows, int Vectors>
RL_INLINE void store_rows(const Sums (&acc)[Rows][Vectors], int first, const Int8End& e, const ColumnEnd& c,
                          const int8_t* others, uint8_t* to, int64_t stride) {
  constexpr int kSums = Count * Vectors;
  __m512i x[kSums];
  __m128i other[kSums]{};
  RL_UNROLL for (int v = 0; v < kSums; ++v) {
    x[v] = acc[first + v / Vectors][v % Vectors];
    if constexpr (Summed) other[v] = load_others<true>(c, v % Vectors, others + v / Vectors * stride);
  }
  scale_sums<Vectors, true, Summed>(e, c, other, x);
  RL_UNROLL for (int v = 0; v < kSums; v += 4) {
    const auto at = [&](int i) { return x[v + i < kSums ? v + i : v]; };
    const __m512i bytes = narrowed(e, at(0), at(1), at(2), at(3));
    RL_UNROLL for (int row = 0; row < 4 / Vectors; ++row) {
      const int i = v / Vectors + row;
      if (i < Count) store_bytes<Vectors, true>(to + i * stride, c, bytes, row);
    }
  }
}

// All columns exist, and no scaled sum exceeds 32 bits.
template <int Rows, int Vectors, bool Summed>
RL_INLINE void store_results(const Sums (&acc)[Rows][Vectors], const Int8End& e, const ColumnEnd& c,
                             const int8_t* others, uint8_t* to, int64_t stride) {
  constexpr int kStep = 8 / Vectors, kRest = Rows % kStep;
  RL_UNROLL for (int i = 0; i + kStep <= Rows; i += kStep) {
    store_rows<kStep, Summed>(acc, i, e, c, others, to, stride);
    others += kStep * stride, to += kStep * stride;
    // Stops compilers from computing all pointers first, which spills registers.
    asm("" : "+r"(others), "+r"(to));
  }
  if constexpr (kRest > 0) store_rows<kRest, Summed>(acc, Rows - kRest, e, c, others, to, stride);
}

// As store_results(), for columns of which some do not exist, and for sums whose scaled values may exceed 32 bits. If
// `correction` is not null, the sums do not include it. It is one function for all row counts, to save code.
template <int Vectors, bool Summed, bool Limited>
static __attribute__((noinline)) void store_any(const Sums* acc, int64_t rows, const ResultsEnd& p,
                                                const Sums* correction, const int8_t* others, uint8_t* to,
                                                int64_t stride) {
  ColumnEnd c = p.columns;
  RL_UNROLL for (int j = 0; j < 2; ++j) c.correction[j] = correction ? correction[j] : Sums{};
  const SumRows sums{reinterpret_cast<const int32_t*>(acc), Vectors * kLanes, rows, 0, stride};
  requantize_columns<Vectors, Limited, Summed, false>(p.bytes, c, sums, sums.sums, others, to);
}

using StoreAny = void (*)(const Sums* acc, int64_t rows, const ResultsEnd& p, const Sums* correction,
                          const int8_t* others, uint8_t* to, int64_t stride);
RL_INLINE StoreAny store_any_of(int vectors, bool summed, bool limited) {
  static constexpr StoreAny all[] = {
      &store_any<1, false, false>, &store_any<1, false, true>, &store_any<1, true, false>, &store_any<1, true, true>,
      &store_any<2, false, false>, &store_any<2, false, true>, &store_any<2, true, false>, &store_any<2, true, true>};
  return all[4 * (vectors - 1) + 2 * summed + limited];
}

template <int Rows, int Vectors, bool Summed, bool Windows>
static void int8_results(const Int8Tile& t, const TileEpilogue& end) {
  const ResultsEnd& p = results_end(*end.panel);
  Sums acc[Rows][Vectors];
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const Sums first = p.columns.correction[j];
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = first;
  }
  add_columns<Windows>(acc, t);
  const int8_t* const others = end.others;
  uint8_t* const to = static_cast<uint8_t*>(end.out);
  const bool limited = p.bytes.limited && p.columns.limited;
  if (limited && p.columns.whole) {
    const Int8End e = p.bytes;
    const ColumnEnd c = p.columns;
    store_results<Rows, Vectors, Summed>(acc, e, c, others, to, end.out_stride);
    return;
  }
  Sums sums[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) { RL_UNROLL for (int j = 0; j < Vectors; ++j) sums[i][j] = acc[i][j]; }
  const auto store = limited ? &store_any<Vectors, Summed, true> : &store_any<Vectors, Summed, false>;
  store(&sums[0][0], Rows, p, nullptr, others, to, end.out_stride);
}

// The parameters of the float32 epilogue of a panel, for all its tiles.
struct DequantizeEnd {
  __m512i first[2];                 // initial sums
  __m512 multiplier[2], offset[2];  // the multiplier includes the scale, unless each row has its own
  __m512 least, most;
};
static_assert(sizeof(DequantizeEnd) <= sizeof(PanelEpilogue) && alignof(DequantizeEnd) <= alignof(PanelEpilogue));

static void prepare_dequantize(int vectors, const Dequantize& how, int64_t columns, PanelEpilogue* to) {
  DequantizeEnd e{};
  for (int j = 0; j < vectors; ++j) {
    const __mmask16 lanes = column_lanes(j, columns);
    e.multiplier[j] = _mm512_maskz_loadu_ps(lanes, how.multiplier + j * kLanes);
    if (how.offset) e.offset[j] = _mm512_maskz_loadu_ps(lanes, how.offset + j * kLanes);
    if (how.step != 0) continue;
    const Lanes rhs_sums = Lanes(load_columns(how.rhs_sums, j, columns));
    e.first[j] = __m512i(-(how.zero(0) * rhs_sums));
    e.multiplier[j] = __m512(how.scales[0] * Reals(e.multiplier[j]));
  }
  e.least = _mm512_set1_ps(how.least), e.most = _mm512_set1_ps(how.most);
  new (to->memory) DequantizeEnd{e};
}

RL_INLINE void store_real(Sums sums, Reals multiplier, Reals offset, const DequantizeEnd& e, bool accumulate,
                          __mmask16 lanes, float* to) {
  Reals x = multiply_add(Reals(reals_of_sums(sums)), multiplier, offset);
  if (accumulate) x += Reals(_mm512_maskz_loadu_ps(lanes, to));
  _mm512_mask_storeu_ps(to, lanes, smaller(Reals(e.most), larger(Reals(e.least), x)));
}

template <int Rows, int Vectors>
RL_INLINE void store_reals(const Sums (&acc)[Rows][Vectors], const DequantizeEnd& e, const Dequantize& how,
                           const TileEpilogue& end) {
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const __mmask16 lanes = column_lanes(j, end.columns);
    const Reals multiplier = Reals(e.multiplier[j]), offset = Reals(e.offset[j]);
    float* to = static_cast<float*>(end.out) + j * kLanes;
    RL_UNROLL for (int i = 0; i < Rows; ++i, to += end.out_stride) {
      store_real(acc[i][j], multiplier, offset, e, how.accumulate, lanes, to);
    }
  }
}

// As store_reals(), if each row has its own zero point and scale. It is one function for all row counts, to save code.
template <int Vectors>
static __attribute__((noinline)) void store_reals_by_row(const Sums* acc, int64_t rows, const DequantizeEnd& e,
                                                         const Dequantize& how, const TileEpilogue& end) {
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const __mmask16 lanes = column_lanes(j, end.columns);
    const Reals multiplier = Reals(e.multiplier[j]), offset = Reals(e.offset[j]);
    const Lanes rhs_sums = Lanes(load_columns(how.rhs_sums, j, end.columns));
    float* to = static_cast<float*>(end.out) + j * kLanes;
    for (int64_t i = 0; i < rows; ++i, to += end.out_stride) {
      const Sums sums = Sums(Lanes(acc[i * Vectors + j]) - how.zero(i) * rhs_sums);
      store_real(sums, how.scales[i * how.step] * multiplier, offset, e, how.accumulate, lanes, to);
    }
  }
}

template <int Rows, int Vectors>
static void real_results(const Int8Tile& t, const TileEpilogue& end) {
  const DequantizeEnd& e = *std::launder(reinterpret_cast<const DequantizeEnd*>(end.panel->memory));
  Sums acc[Rows][Vectors];
  RL_UNROLL for (int j = 0; j < Vectors; ++j) {
    const Sums first = e.first[j];
    RL_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = first;
  }
  add_columns<false>(acc, t);
  if (end.reals->step == 0) return store_reals(acc, e, *end.reals, end);
  Sums sums[Rows][Vectors];
  RL_UNROLL for (int i = 0; i < Rows; ++i) { RL_UNROLL for (int j = 0; j < Vectors; ++j) sums[i][j] = acc[i][j]; }
  store_reals_by_row<Vectors>(&sums[0][0], Rows, e, *end.reals, end);
}

template <int Vectors, int... I>
static void results_gemm_of(int rows, const Int8Tile& tile, const TileEpilogue& end, std::integer_sequence<int, I...>) {
  using Gemm = void (*)(const Int8Tile&, const TileEpilogue&);
  static constexpr Gemm bytes[] = {&int8_results<rows_in_table<sizeof...(I)>(I + 1), Vectors, false, false>...};
  static constexpr Gemm added[] = {&int8_results<rows_in_table<sizeof...(I)>(I + 1), Vectors, true, false>...};
  static constexpr Gemm reals[] = {&real_results<rows_in_table<sizeof...(I)>(I + 1), Vectors>...};
  if (end.reals) return reals[rows - 1](tile, end);
  const bool is_added = end.others != nullptr;
  if constexpr (Vectors == 2) {
    static constexpr Gemm windows[] = {&int8_results<rows_in_table<sizeof...(I)>(I + 1), Vectors, false, true>...};
    static constexpr Gemm windows_added[] = {&int8_results<rows_in_table<sizeof...(I)>(I + 1), Vectors, true, true>...};
    if (tile.runs > 1) return (is_added ? windows_added : windows)[rows - 1](tile, end);
  }
  (is_added ? added : bytes)[rows - 1](tile, end);
}

static void results_gemm(int rows, int vectors, const Int8Tile& tile, const TileEpilogue& end) {
  if (!has_tile<kTileRows>(rows)) {
    Int8Tile part = tile;
    part.half_step = (kPartRows + 1) / 2 * tile.lhs_stride;
    results_gemm(kPartRows, vectors, part, end);
    const int rest = rows - kPartRows;
    part.lhs = static_cast<const Lhs*>(tile.lhs) + kPartRows * tile.lhs_stride;
    part.half_step = (rest + 1) / 2 * tile.lhs_stride;
    part.ahead = tile.rhs, part.ahead_step = 0;
    TileEpilogue below = end;
    Dequantize reals;
    if (end.reals) {
      reals = *end.reals;
      reals.zeros += kPartRows * reals.step, reals.scales += kPartRows * reals.step;
      below.reals = &reals;
    }
    if (end.others) below.others += kPartRows * end.out_stride;
    const int64_t size = end.reals ? sizeof(float) : 1;
    below.out = static_cast<uint8_t*>(end.out) + kPartRows * end.out_stride * size;
    return results_gemm(rest, vectors, part, below);
  }
  using Rows = std::make_integer_sequence<int, kTileRows>;
  if (vectors == 1) return results_gemm_of<1>(rows, tile, end, Rows{});
  return results_gemm_of<2>(rows, tile, end, Rows{});
}

static void pack_rows(const LhsRows& r, int64_t rows, void* to) {
  const __m512i change = _mm512_set1_epi8(static_cast<char>(r.sign_mask ^ kLhsOffset));
  const int64_t whole = r.numbers / 64 * 64;
  const __mmask64 rest = (uint64_t{1} << (r.numbers - whole)) - 1;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t* const from = r.from + i * r.from_stride;
    uint8_t* const row = static_cast<uint8_t*>(to) + i * r.to_stride;
    for (int64_t j = 0; j < whole; j += 64) {
      _mm512_storeu_si512(row + j, _mm512_xor_si512(_mm512_loadu_si512(from + j), change));
    }
    if (rest == 0) continue;
    _mm512_storeu_si512(row + whole, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, from + whole), change));
  }
}

}  // namespace rushlight::microkernels::RL_ISA
