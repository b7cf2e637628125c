// Products of rows with a packed matrix of int16 blocks: rows become blocks too, a part at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/rounding.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/image.h"
#include "microkernels/tables/block.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::microkernels {

// A matrix [k, n] of int16 with a scale for each block of a column. Panels follow each other without gaps: numbers
// [blocks, pairs, columns of the panel], 2 of a column in a word, and scales [blocks, columns of the panel]. Blocks are
// equally long; behind the last number are zeros.
struct BlockMatrix {
  const uint32_t* words = nullptr;
  int64_t k = 0, n = 0;
  int64_t blocks = 1, pairs = 0;

  int64_t rows() const { return blocks * (pairs + 1); }  // words of a column
  int64_t size(const Packing& packing) const { return rows() * packing.columns(n); }
  // Writes the numbers of blocks [first, last) of a panel with so many columns as floats [k, columns].
  void widen(const uint32_t* panel, int64_t columns, int64_t first, int64_t last, float* to) const;
};

// The product [rows, k] x [k, n] = [rows, n] of float32 with a BlockMatrix.
class BlockGemm {
 public:
  // The owner sets these, once.
  const F32Microkernels* kernels = nullptr;
  const BlockMicrokernels* blocks = nullptr;
  BlockMatrix weights;
  const float* bias = nullptr;  // [n, and 64 more that can be read], or null
  Epilogue epilogue;            // without its residual

  // Takes note of the number of rows and of the floats from row to row.
  void prepare(int64_t rows, int64_t in_step, int64_t out_step, int64_t residual_step);
  // Returns the scratch memory, aligned to 64 bytes, for the shapes of the last prepare().
  size_t scratch_floats(int64_t workers) const { return static_cast<size_t>(workers * worker_floats()); }
  // Computes the product. A result does not depend on the number of workers. `residual` may be null or `out`; `next`
  // says what is read after this step.
  void run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out, const float* residual,
           float* scratch, const FirstWeights& next) const;
  // Returns the weights that run() reads first.
  FirstWeights first_weights(int64_t workers) const;
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * rows_ * weights.k * weights.n; }

 private:
  struct Part;

  Packing packing() const { return packing_of(*kernels); }
  int64_t panels() const { return divide_up(weights.n, packing().panel); }
  bool is_by_columns(int64_t workers) const;
  // Words of a row's numbers, no multiple of a page: rows would displace each other in the first level cache.
  int64_t row_words() const { return round_up(weights.blocks * weights.pairs, 32) + 16; }
  int64_t scale_floats() const { return round_up(block_ * weights.blocks, 16); }
  int64_t widened_floats() const { return 2 * std::min(kMostBlocks, weights.blocks) * weights.pairs * packing().panel; }
  // Of a worker: numbers of rows, their scales, which rows have none, a panel as floats.
  int64_t worker_floats() const {
    return block_ * row_words() + scale_floats() + round_up(block_, 16) + widened_floats();
  }
  void multiply(Part& part, int64_t p0, int64_t p1) const;
  void multiply_panel(const Part& part, int64_t panel, int64_t first, int64_t last, const Ahead& ahead) const;

  // Deeper products of many rows are summed in parts, so that the parts of a tile's rows stay in cache.
  static constexpr int64_t kMostBlocks = 8;

  int64_t rows_ = 0, block_ = 1;  // block_: rows at a time, of whole tiles
  int64_t in_step_ = 0, out_step_ = 0, residual_step_ = 0;
};

}  // namespace rushlight::microkernels
