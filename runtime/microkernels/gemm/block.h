// GEMMs in block floating point: rows of float32 numbers are converted to int16 blocks and multiplied by a packed
// matrix of int16 blocks.
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

// A packed matrix [k, n] of int16 numbers with a scale for each block of a column. Panels are contiguous. A panel
// consists of numbers [blocks, pairs, columns of the panel], where a 32-bit word contains two numbers of a column,
// followed by scales [blocks, columns of the panel]. All blocks have the same length; the last block is padded with
// zeros.
struct BlockMatrix {
  const uint32_t* words = nullptr;
  int64_t k = 0, n = 0;
  int64_t blocks = 1, pairs = 0;

  int64_t rows() const { return blocks * (pairs + 1); }  // number of words of a column, including scales
  int64_t size(const Packing& packing) const { return rows() * packing.columns(n); }
  // Converts blocks [first, last) of a panel with `columns` columns to floats [k, columns].
  void widen(const uint32_t* panel, int64_t columns, int64_t first, int64_t last, float* to) const;
};

// The product of a float32 matrix [rows, k] and a BlockMatrix [k, n].
class BlockGemm {
 public:
  // The owner sets these once.
  const F32Microkernels* kernels = nullptr;
  const BlockMicrokernels* blocks = nullptr;
  BlockMatrix weights;
  const float* bias = nullptr;  // [n], or null; it is read in whole vectors
  Epilogue epilogue;            // `residual` is an argument of run()

  // Sets the number of rows, and the floats from row to row of each operand.
  void prepare(int64_t rows, int64_t in_step, int64_t out_step, int64_t residual_step);
  // Returns the scratch memory of run() in floats, for the sizes of the last prepare(). It is aligned to 64 bytes.
  size_t scratch_floats(int64_t workers) const { return static_cast<size_t>(workers * worker_floats()); }
  // Computes the product. Results do not depend on the number of workers. `residual` may be null or equal to `out`.
  // `next` are the weights of the next step, which run() prefetches.
  void run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out, const float* residual,
           float* scratch, const FirstWeights& next) const;
  // Returns the weights that run() reads first.
  FirstWeights first_weights(int64_t workers) const;
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * rows_ * weights.k * weights.n; }

 private:
  struct Part;
  struct Panel;

  Packing packing() const { return packing_of(*kernels); }
  int64_t panels() const { return divide_up(weights.n, packing().panel); }
  bool is_by_columns(int64_t workers) const;
  // Returns the words from row to row of the LHS. This is not a multiple of the page size, because the rows would then
  // use the same cache sets.
  int64_t row_words() const { return round_up(weights.blocks * weights.pairs, 32) + 16; }
  int64_t scale_floats() const { return round_up(block_ * weights.blocks, 16); }
  int64_t widened_floats() const { return 2 * std::min(kMaxBlocks, weights.blocks) * weights.pairs * packing().panel; }
  // Returns the scratch memory of a worker in floats: numbers and scales of rows, flags of rows that cannot be
  // converted, a panel of floats.
  int64_t worker_floats() const {
    return block_ * row_words() + scale_floats() + round_up(block_, 16) + widened_floats();
  }
  // Converts the rows of a part and multiplies them by panels [p0, p1).
  void multiply(Part& part, int64_t p0, int64_t p1) const;
  // Adds the products of blocks [first, last) for one panel. The sums of the blocks before `first` are in the output.
  void multiply_panel(const Part& part, int64_t index, int64_t first, int64_t last, const Ahead& ahead) const;
  Panel make_panel(const Part& part, int64_t index, int64_t first, int64_t last) const;
  // Chooses the memory that the tiles of a panel prefetch: `ahead`, or the next panel if `ahead` is empty.
  void set_ahead(Panel& panel, int64_t groups, const Ahead& ahead) const;
  // Multiplies `count` rows by a panel, as many as fit one tile. Row m is the first of them.
  void multiply_rows(const Part& part, Panel& panel, int64_t m, int64_t count) const;
  void set_rows(const Part& part, Panel& panel, int64_t m) const;
  // Computes a row like the microkernel, but with float32 products. set_rows() was called for this row.
  void multiply_plain_row(const Part& part, const Panel& panel, int64_t m) const;

  // Longer sums of many rows are computed in parts of this many blocks, so that this part of the rows of a tile stays
  // in the cache.
  static constexpr int64_t kMaxBlocks = 8;

  int64_t rows_ = 0, block_ = 1;  // block_: number of rows that are converted at a time; they fill whole tiles
  int64_t in_step_ = 0, out_step_ = 0, residual_step_ = 0;
};

}  // namespace rushlight::microkernels
