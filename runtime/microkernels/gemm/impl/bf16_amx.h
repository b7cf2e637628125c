// Products of pairs of bfloat16 numbers with AMX, in namespace rushlight::microkernels::RL_ISA. A tile of two vectors
// and up to 32 rows needs all tile registers: four for sums, two for the LHS and two for the RHS. An instruction
// multiplies up to 16 pairs of all rows of two registers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "microkernels/gemm/impl/bf16_pairs.h"
#include "microkernels/simd/amx.h"

namespace rushlight::microkernels::RL_ISA {

// A sum of k terms takes several steps of up to 16 pairs.
struct PairSteps {
  int64_t pairs, steps, of_step;

  explicit PairSteps(int64_t k)
      : pairs((k + 1) / 2), steps((pairs + kAmxGroups - 1) / kAmxGroups), of_step(std::min(pairs, kAmxGroups)) {}
  // Returns the first pair of a step. The last step repeats pairs of the step before, so that it has as many.
  int64_t first(int64_t step) const { return std::min(step * of_step, pairs - of_step); }
};

// Packs the LHS of a tile as [steps, rows, pairs of a step]. Repeated pairs are 0.
static void amx_pack_lhs(const float* const* x, int64_t first, int rows, int64_t k, uint32_t* to) {
  const PairSteps steps(k);
  for (int64_t s = 0; s < steps.steps; ++s) {
    const int64_t begin = 2 * steps.first(s), repeated = s * steps.of_step - steps.first(s);
    const __mmask16 low_zeros = static_cast<__mmask16>(0xffffu << repeated);
    for (int i = 0; i < rows; ++i, to += steps.of_step) {
      const float* const from = x[i] + first + begin;
      Shorts parts[2] = {};
      for (int64_t j = 0, left = std::min(2 * steps.of_step, k - begin); left > 0; ++j, left -= kWidth) {
        const float* const part = from + j * kWidth;
        parts[j] = BFloat16Bits::narrow(left >= kWidth ? load(part) : load_few(part, left));
      }
      __m512i words;
      __builtin_memcpy(&words, parts, sizeof(words));
      const __mmask16 all = static_cast<__mmask16>(0xffffu >> (kAmxGroups - steps.of_step));
      _mm512_mask_storeu_epi32(to, all, _mm512_maskz_mov_epi32(low_zeros, words));
    }
  }
}

// Stores the sums of the products [rows, vectors] in `sums`.
RL_AMX static void amx_pair_sums(int rows, int vectors, const PairTile& tile, float* sums) {
  const bool has_lower = rows > 1, has_right = vectors > 1;
  const int upper_rows = (rows + 1) / 2;
  const PairSteps steps(tile.panel.k);
  const int64_t width = vectors * kWidth, bytes = width * 4, lhs_bytes = steps.of_step * 4;
  float* const lower_sums = sums + upper_rows * width;
  // Intrinsics of GCC do not tell the compiler that they read memory.
  asm volatile("" : : : "memory");
  if (tile.shapes->rows != rows || tile.shapes->pairs != steps.of_step) {
    set_shapes(upper_rows, rows - upper_rows, steps.of_step);
    *tile.shapes = {rows, steps.of_step};
  }
  _tile_zero(RL_UPPER_LEFT);
  if (has_right) _tile_zero(RL_UPPER_RIGHT);
  if (has_lower) _tile_zero(RL_LOWER_LEFT);
  if (has_lower && has_right) _tile_zero(RL_LOWER_RIGHT);
  const uint32_t* lhs = tile.lhs;
  for (int64_t s = 0; s < steps.steps; ++s, lhs += rows * steps.of_step) {
    const uint32_t* const rhs = static_cast<const uint32_t*>(tile.panel.b) + steps.first(s) * width;
    _tile_loadd(RL_LEFT_RHS, rhs, bytes);
    _tile_loadd(RL_UPPER_LHS, lhs, lhs_bytes);
    _tile_dpbf16ps(RL_UPPER_LEFT, RL_UPPER_LHS, RL_LEFT_RHS);
    if (has_right) {
      _tile_loadd(RL_RIGHT_RHS, rhs + kWidth, bytes);
      _tile_dpbf16ps(RL_UPPER_RIGHT, RL_UPPER_LHS, RL_RIGHT_RHS);
    }
    if (has_lower) {
      _tile_loadd(RL_LOWER_LHS, lhs + upper_rows * steps.of_step, lhs_bytes);
      _tile_dpbf16ps(RL_LOWER_LEFT, RL_LOWER_LHS, RL_LEFT_RHS);
      if (has_right) _tile_dpbf16ps(RL_LOWER_RIGHT, RL_LOWER_LHS, RL_RIGHT_RHS);
    }
  }
  _tile_stored(RL_UPPER_LEFT, sums, bytes);
  if (has_right) _tile_stored(RL_UPPER_RIGHT, sums + kWidth, bytes);
  if (has_lower) _tile_stored(RL_LOWER_LEFT, lower_sums, bytes);
  if (has_lower && has_right) _tile_stored(RL_LOWER_RIGHT, lower_sums + kWidth, bytes);
  asm volatile("" : : : "memory");
}

// Computes results from the sums of `Rows` rows, and moves `t` and `sums` down by these rows.
template <int Rows, int Vectors>
RL_INLINE void finish_pair_rows(const float*& sums, PanelTile& t) {
  Floats acc[Rows][Vectors];
  zero_sums<Rows, Vectors>(acc);
  add_totals<Rows, Vectors>(sums, acc);
  add_bias<Rows, Vectors>(acc, t.bias);
  add_addend<Rows, Vectors>(acc, t);
  store_sums<Rows, Vectors>(acc, t);
  move_down(t, Rows);
  sums += Rows * Vectors * kWidth;
}

template <int Vectors>
static void finish_pairs(const float* sums, int rows, PanelTile t) {
  for (; rows >= 4; rows -= 4) finish_pair_rows<4, Vectors>(sums, t);
  for (; rows > 0; --rows) finish_pair_rows<1, Vectors>(sums, t);
}

static void amx_pair_panel(int rows, int vectors, const PairTile& tile) {
  alignas(64) float sums[kAmxRows * kTileVectors * kWidth];
  amx_pair_sums(rows, vectors, tile, sums);
  vectors == 1 ? finish_pairs<1>(sums, rows, tile.panel) : finish_pairs<2>(sums, rows, tile.panel);
}

RL_AMX static void amx_release_pairs() { _tile_release(); }

static constexpr Bf16PairMicrokernels make_amx_pair_table(const char* name) {
  constexpr int kLeastRows = 5;
  return {name, kAmxRows, kLeastRows, &amx_pack_lhs, &pack_rhs, &amx_pair_panel, &amx_release_pairs};
}

}  // namespace rushlight::microkernels::RL_ISA
