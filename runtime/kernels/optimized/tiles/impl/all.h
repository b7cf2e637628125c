// All tiles of one instruction set; included once by each tiles_<isa>.cpp.
#pragma once

#include "kernels/optimized/tiles/impl/channels_last.h"
#include "kernels/optimized/tiles/impl/copy.h"
#include "kernels/optimized/tiles/impl/depthwise.h"
#include "kernels/optimized/tiles/impl/elementwise.h"
#include "kernels/optimized/tiles/impl/gemm.h"
#include "kernels/optimized/tiles/impl/panel.h"
#include "kernels/optimized/tiles/impl/pool.h"
#include "kernels/optimized/tiles/impl/reduce.h"
#include "kernels/optimized/tiles/impl/vector_product.h"
#include "kernels/optimized/tiles/impl/winograd.h"
#include "kernels/optimized/tiles/impl/winograd_channels_last.h"

namespace rushlight::tiles::RL_TILES_ISA {

static constexpr PackedTiles kPackedTiles = make_packed_tiles();

static constexpr Tiles make_tiles(const char* name) {
  Tiles t{};
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
  t.fold_rows = &fold_rows;
  t.sum = &sum_row;
  t.squared_deviations = &squared_deviations;
  t.extreme = &extreme;
  t.normalize = &normalize;
  t.softmax = &softmax;
  t.softmax_columns = &softmax_columns;
  t.max_pool = &max_pool;
  t.packed = &kPackedTiles;
  return t;
}

}  // namespace rushlight::tiles::RL_TILES_ISA
