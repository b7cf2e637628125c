// The float32 tables of one instruction set. Each isa/f32_<isa>.cpp includes this file once.
#pragma once

#include "microkernels/attention/impl/f32.h"
#include "microkernels/dwconv/impl/f32.h"
#include "microkernels/dwconv/impl/f32_channels_last.h"
#include "microkernels/elementwise/impl/f32.h"
#include "microkernels/elementwise/impl/f32_copy.h"
#include "microkernels/fft/impl/f32.h"
#include "microkernels/gemm/impl/f32.h"
#include "microkernels/gemm/impl/f32_panel.h"
#include "microkernels/gemm/impl/f32_vector.h"
#include "microkernels/pool/impl/f32.h"
#include "microkernels/recurrent/impl/f32.h"
#include "microkernels/reduce/impl/f32.h"
#include "microkernels/reduce/impl/f32_order.h"
#include "microkernels/tables/selected.h"
#include "microkernels/winograd/impl/f32.h"
#include "microkernels/winograd/impl/f32_channels_last.h"
#if RL_WIDTH >= 8
#include "microkernels/gemm/impl/f32_dots.h"
#endif

namespace rushlight::microkernels::RL_ISA {

static constexpr F32PackedMicrokernels make_packed_table() {
  F32PackedMicrokernels t{};
  t.narrow_rows = kNarrowRows;
  t.has_all_rows = !kIsCompact;
  RL_SET_PACKED(saturate, saturate);
  RL_SET_PACKED(panel, panel);
#if RL_WIDTH >= 8
  if (!kIsCompact) {
    t.dot_columns = kDotColumns;
    RL_SET_PACKED(dots, dots);
  }
#endif
  RL_SET_PACKED(line, line);
  RL_SET_PACKED(row, row);
  if (is_selected("f16")) {
    if (!kIsSmall) RL_SET_PACKED(f16_panel, f16_panel);
    RL_SET_PACKED(f16_row, f16_row);
  }
  RL_SET_PACKED(depthwise, depthwise_run);
  RL_SET_PACKED(grouped_line, grouped_line);
#ifdef RL_PERMUTES
  RL_SET_PACKED(grouped_3x3, grouped_3x3);
#endif
  RL_SET_PACKED(pool, pool);
  if (is_selected("packed.winograd")) {
    t.winograd2 = winograd_transforms<2>();
    t.winograd3 = winograd_transforms<3>();
    t.winograd4 = winograd_transforms<4>();
  }
  if (is_selected("packed.winograd_apart")) {
    t.winograd_apart = {nullptr, &winograd_tile_input<WinogradApart>, &winograd_tile_output<WinogradApart>};
  }
  if (is_selected("prologue")) RL_SET_PACKED(prologue, prologue);
  RL_SET_PACKED(apply, apply);
  RL_SET_PACKED(attention, attention);
  RL_SET_PACKED(attention_share, attention_share);
  RL_SET_PACKED(lstm, lstm);
  RL_SET_PACKED(gru, gru);
  return t;
}

static constexpr F32PackedMicrokernels kPackedTable = make_packed_table();

static constexpr F32Microkernels make_table(const char* name) {
  F32Microkernels t{};
  t.name = name;
  t.width = kWidth;
  t.gemm_rows = kTileRows;
  t.gemm_vectors = kTileVectors;
  RL_SET(gemm, gemm);
  RL_SET(pack_rows, pack_rows);
  RL_SET(pack_transposed, pack_transposed);
  RL_SET(pack_gathered, pack_gathered);
  RL_SET(add_dots, add_dots);
  RL_SET(add_scaled_rows, add_scaled_rows);
  RL_SET(depthwise, depthwise);
  RL_SET(depthwise_pixel, depthwise_pixel);
  RL_SET(winograd_weights, winograd_weights);
  RL_SET(winograd_input, winograd_input);
  RL_SET(winograd_output, winograd_output);
  RL_SET(copy_strided, copy_strided);
  RL_SET(unary, unary);
  RL_SET(binary, binary);
  RL_SET(fft_pass, fft_pass);
  RL_SET(fft_of_real, fft_of_real);
  RL_SET(fft_to_real, fft_to_real);
  RL_SET(compare, compare);
  RL_SET(where, where);
  RL_SET(reduce_rows, reduce_rows);
  RL_SET(add_gathered_rows, add_gathered_rows);
  RL_SET(sum, sum_row);
  RL_SET(squared_deviations, squared_deviations);
  if (is_selected("extremes")) RL_SET(extreme, extreme);
  RL_SET(order_keys, order_keys);
  RL_SET(find_keys, find_keys);
  RL_SET(normalize_rows, normalize_rows);
  RL_SET(divide_by_norms, divide_by_norms);
  RL_SET(softmax, softmax);
  RL_SET(softmax_columns, softmax_columns);
  RL_SET(max_pool, max_pool);
  t.packed = &kPackedTable;
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
