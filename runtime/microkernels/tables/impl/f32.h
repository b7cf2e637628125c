// All tiles of one instruction set; included once by each tiles_<isa>.cpp.
#pragma once

#include "microkernels/dwconv/impl/f32.h"
#include "microkernels/dwconv/impl/f32_channels_last.h"
#include "microkernels/elementwise/impl/f32.h"
#include "microkernels/elementwise/impl/f32_copy.h"
#include "microkernels/gemm/impl/f32.h"
#include "microkernels/gemm/impl/f32_panel.h"
#include "microkernels/gemm/impl/f32_vector.h"
#include "microkernels/pool/impl/f32.h"
#include "microkernels/reduce/impl/f32.h"
#include "microkernels/winograd/impl/f32.h"
#include "microkernels/winograd/impl/f32_channels_last.h"

namespace rushlight::microkernels::RL_ISA {

static constexpr F32PackedMicrokernels kPackedTable = make_packed_table();

static constexpr F32Microkernels make_table(const char* name) {
  F32Microkernels t{};
  t.name = name;
  t.width = kWidth;
  t.gemm_rows = kTileRows;
  t.gemm_vectors = kTileVectors;
  t.gemm = &gemm;
  t.pack_rows = &pack_rows;
  t.pack_transposed = &pack_transposed;
  t.pack_gathered = &pack_gathered;
  t.add_dots = &add_dots;
  t.add_scaled_rows = &add_scaled_rows;
  t.depthwise = &depthwise;
  t.depthwise_pixel = &depthwise_pixel;
  t.winograd_weights = &winograd_weights;
  t.winograd_input = &winograd_input;
  t.winograd_output = &winograd_output;
  t.copy_strided = &copy_strided;
  t.unary = &unary;
  t.binary = &binary;
  t.compare = &compare;
  t.where = &where;
  t.reduce_rows = &reduce_rows;
  t.sum = &sum_row;
  t.squared_deviations = &squared_deviations;
  t.extreme = &extreme;
  t.normalize = &normalize;
  t.softmax = &softmax;
  t.softmax_columns = &softmax_columns;
  t.max_pool = &max_pool;
  t.packed = &kPackedTable;
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
