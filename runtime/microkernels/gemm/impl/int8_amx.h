// Int8 tiles with AMX, in namespace rushlight::microkernels::RL_ISA. A tile of two vectors and up to 32 rows needs all
// tile registers: four for sums, two for the LHS and two for the RHS. An instruction multiplies up to 16 groups of all
// rows of two registers.
//
// isa/int8_avx512vnni.cpp includes this file: packed operands and epilogues are those of AVX-512 VNNI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "microkernels/gemm/impl/int8_avx512.h"
#include "microkernels/gemm/impl/int8_sums.h"
#include "microkernels/simd/amx.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels::RL_ISA {

// The least rows of a product, groups of a run, and rows times groups, for which AMX is faster than AVX-512 VNNI.
inline constexpr int64_t kAmxMinRows = 8, kAmxMinGroups = 16, kAmxMinWork = 512;

// How the groups of a run are divided into steps. A step multiplies the same number of groups for all rows.
struct AmxSteps {
  int64_t steps, groups;

  // The number of groups that two steps multiply, if the groups of a run do not divide into equal steps.
  int64_t repeated(int64_t run) const { return steps * groups - run; }
};

RL_INLINE AmxSteps amx_steps(int64_t run) {
  const int64_t least = (run + kAmxGroups - 1) / kAmxGroups;
  // More steps than necessary cost less than half of them.
  for (int64_t steps = least; 2 * steps <= 3 * least; ++steps) {
    if (run % steps == 0) return {steps, run / steps};
  }
  return {least, (run + least - 1) / least};
}

static int64_t amx_repeated(int64_t groups) { return amx_steps(groups).repeated(groups); }

// Moves the groups of the last step of each row behind zeros, which the repeated groups of the RHS are multiplied by.
static void amx_repeat(int64_t groups, int64_t rows, int64_t stride, void* lhs) {
  const AmxSteps s = amx_steps(groups);
  const int64_t first = (s.steps - 1) * s.groups;
  const int64_t zeros = s.repeated(groups) * kGroup, moved = (groups - first) * kGroup;  // bytes, fewer than 64
  const __mmask64 zeros_mask = (uint64_t{1} << zeros) - 1, moved_mask = (uint64_t{1} << moved) - 1;
  uint8_t* last = static_cast<uint8_t*>(lhs) + first * kGroup;
  for (int64_t i = 0; i < rows; ++i, last += stride) {
    _mm512_mask_storeu_epi8(last + zeros, moved_mask, _mm512_maskz_loadu_epi8(moved_mask, last));
    _mm512_mask_storeu_epi8(last, zeros_mask, _mm512_setzero_si512());
  }
}

// Stores the sums of a tile in t.sums. 1 <= rows <= kAmxRows. Row (rows + 1) / 2 of the LHS begins half_step elements
// after row 0. If groups are repeated, the LHS was changed by amx_repeat().
RL_AMX static void amx_sums(int rows, int vectors, const Int8Tile& t) {
  const bool has_lower = rows > 1, has_right = vectors > 1;
  const int upper_rows = (rows + 1) / 2;
  const int64_t sums_stride = t.sums_stride * 4, stride = t.lhs_stride;
  int32_t *const sums = t.sums, *const lower_sums = sums + upper_rows * t.sums_stride;
  const AmxSteps each = amx_steps(t.groups);
  // Intrinsics of GCC do not tell the compiler that they read memory.
  asm volatile("" : : : "memory");
  if (t.shapes == nullptr || t.shapes->rows != rows || t.shapes->groups != each.groups) {
    set_shapes(upper_rows, rows - upper_rows, each.groups);
    if (t.shapes) *t.shapes = {rows, each.groups};
  }
  if (t.accumulate) {
    _tile_loadd(RL_UPPER_LEFT, sums, sums_stride);
    if (has_right) _tile_loadd(RL_UPPER_RIGHT, sums + kLanes, sums_stride);
    if (has_lower) _tile_loadd(RL_LOWER_LEFT, lower_sums, sums_stride);
    if (has_lower && has_right) _tile_loadd(RL_LOWER_RIGHT, lower_sums + kLanes, sums_stride);
  } else {
    _tile_zero(RL_UPPER_LEFT);
    if (has_right) _tile_zero(RL_UPPER_RIGHT);
    if (has_lower) _tile_zero(RL_LOWER_LEFT);
    if (has_lower && has_right) _tile_zero(RL_LOWER_RIGHT);
  }
  const int64_t width = (has_right ? 2 : 1) * kLanes * kGroup;  // bytes of a group of the RHS
  const int8_t* ahead = t.ahead;
  for (int64_t run = 0; run < t.runs; ++run) {
    const Lhs* upper = static_cast<const Lhs*>(t.lhs) + run * t.run_step;
    for (int64_t s = 0; s < each.steps; ++s, upper += each.groups * kGroup) {
      const int64_t group = run * t.groups + std::min(s * each.groups, t.groups - each.groups);
      const int8_t* const rhs = t.rhs + group * width;
      _tile_loadd(RL_LEFT_RHS, rhs, width);
      _tile_loadd(RL_UPPER_LHS, upper, stride);
      _tile_dpbusd(RL_UPPER_LEFT, RL_UPPER_LHS, RL_LEFT_RHS);
      if (has_right) {
        _tile_loadd(RL_RIGHT_RHS, rhs + kLanes * kGroup, width);
        _tile_dpbusd(RL_UPPER_RIGHT, RL_UPPER_LHS, RL_RIGHT_RHS);
      }
      if (has_lower) {
        _tile_loadd(RL_LOWER_LHS, upper + t.half_step, stride);
        _tile_dpbusd(RL_LOWER_LEFT, RL_LOWER_LHS, RL_LEFT_RHS);
        if (has_right) _tile_dpbusd(RL_LOWER_RIGHT, RL_LOWER_LHS, RL_RIGHT_RHS);
      }
      if (t.ahead_step == 0) continue;
      for (int64_t g = 0; g < each.groups; ++g, ahead += t.ahead_step) __builtin_prefetch(ahead, 0, 2);
    }
  }
  _tile_stored(RL_UPPER_LEFT, sums, sums_stride);
  if (has_right) _tile_stored(RL_UPPER_RIGHT, sums + kLanes, sums_stride);
  if (has_lower) _tile_stored(RL_LOWER_LEFT, lower_sums, sums_stride);
  if (has_lower && has_right) _tile_stored(RL_LOWER_RIGHT, lower_sums + kLanes, sums_stride);
  if (t.shapes == nullptr) _tile_release();
}

static void amx_gemm(int rows, int vectors, const Int8Tile& tile) {
  Int8Tile t = tile;
  if (amx_repeated(t.groups) == 0) {
    t.half_step = (rows + 1) / 2 * tile.lhs_stride;
    t.runs = 1, t.ahead_step = 0, t.shapes = nullptr;
    return amx_sums(rows, vectors, t);
  }
  for (int first = 0; first < rows; first += kTileRows) {
    t.lhs = static_cast<const Lhs*>(tile.lhs) + first * tile.lhs_stride;
    t.sums = tile.sums + first * tile.sums_stride;
    sums_of(std::min(rows - first, kTileRows), vectors, t);
  }
}

RL_AMX static void amx_release() { _tile_release(); }

static bool amx_is_faster(int64_t rows, int64_t groups) {
  return rows >= kAmxMinRows && groups >= kAmxMinGroups && rows * groups >= kAmxMinWork;
}

static void amx_results(int rows, int vectors, const Int8Tile& tile, const TileEpilogue& end) {
  amx_sums(rows, vectors, tile);
  const Sums* const sums = reinterpret_cast<const Sums*>(tile.sums + end.done * tile.sums_stride);
  const int64_t count = rows - end.done;
  if (end.reals == nullptr) {
    const ResultsEnd& p = results_end(*end.panel);
    const bool limited = p.bytes.limited && p.columns.limited, summed = end.others != nullptr;
    const StoreAny store = store_any_of(vectors, summed, limited);
    return store(sums, count, p, p.columns.correction, end.others, static_cast<uint8_t*>(end.out), end.out_stride);
  }
  const DequantizeEnd& e = *std::launder(reinterpret_cast<const DequantizeEnd*>(end.panel->memory));
  static constexpr float kOne = 1.0f;
  Dequantize how = *end.reals;
  if (how.step == 0) how.scales = &kOne;  // the multipliers of `e` include the scale
  const auto store = vectors == 1 ? &store_reals_by_row<1> : &store_reals_by_row<2>;
  store(sums, count, e, how, end);
}

// Changes a table of AVX-512 VNNI to use AMX. Epilogues between the multiplications of the next tile, as in
// gemm_pipelined(), were not faster.
static constexpr Int8Microkernels with_amx(Int8Microkernels t) {
  t.name = "avx512amx";
  t.rows = kAmxRows;
  t.gemm = &amx_gemm;
  t.gemm_results = &amx_results;
  t.gemm_pipelined = nullptr;
  t.finish_pipelined = nullptr;
  t.release_shapes = &amx_release;
  t.repeated_groups = &amx_repeated;
  t.repeat_in_lhs = &amx_repeat;
  t.is_faster = &amx_is_faster;
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
