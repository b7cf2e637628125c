// Convolutions and GEMMs with constant weights, as GEMMs with packed weights. The LHS is an array of pointers to pixels
// (indirect GEMM), so that the image is neither copied nor padded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/rounding.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/image.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight::microkernels {

// The prologue of a convolution: it changes the input before the multiplication.
struct ImagePrologue {
  bool applies = false;
  Prologue rows;                           // scale and shift of the first image of the batch
  int64_t scale_step = 0, shift_step = 0;  // floats from the scale and the shift of an image to those of the next image
};

// A convolution of channels-last float32 images [n, h, w, groups * channels] to [n, out_h, out_w, groups * outputs].
class PackedConvolution {
 public:
  static constexpr int64_t kZerosAfterPixel = 16;  // microkernels may load a whole vector at the end of a pixel

  // The owner sets these once. `channels` and `outputs` count the channels of one group.
  const F32Microkernels* kernels = nullptr;
  Window window{};
  int64_t groups = 1, channels = 0, outputs = 0;
  ImagePrologue prologue;        // only for 1 x 1 windows; the owner sets the pointers before each run
  Epilogue epilogue;             // `residual` is an argument of run()
  PackedWeights weights;         // for each group a packed matrix [kernel_h * kernel_w * channels, outputs]; a grouped
                                 // matrix only for one group, a window of one pixel and more than one row
  const float* bias = nullptr;   // [groups, outputs], or null; each group is read in whole vectors
  const float* zeros = nullptr;  // [groups * channels + kZerosAfterPixel] zeros, which are read for padding
  const float* dot_weights = nullptr;  // null, or dot_floats() floats that set_dot_weights() has written
  bool rounds = false;                 // if the weights are bfloat16: whether the input may be rounded to bfloat16

  // If there are so few outputs that dot products are faster than panels: returns the size of the weights for these, in
  // floats. Otherwise returns 0.
  int64_t dot_floats() const;
  // Writes `weights` in the order for dot products to `to`, and uses them. The weights must be float32.
  void set_dot_weights(float* to);
  // Sets the shapes of the operands. `residual` may be null. Returns InvalidProgram if the shapes do not match.
  Error prepare(const Sources& in, const Image& out, const Image* residual);
  // Returns the scratch memory of run() in floats, for the shapes of the last prepare(). It is aligned to 64 bytes.
  size_t scratch_floats(int64_t workers) const { return static_cast<size_t>(workers * worker_floats()); }
  // Computes the output. `in` contains a pointer to each source. Results do not depend on the number of workers. `next`
  // are the weights of the next step, which run() prefetches.
  void run(KernelRuntimeContext& context, int64_t workers, const float* const* in, float* out, const float* residual,
           float* scratch, const FirstWeights& next = {});
  // Returns the weights that run() reads first, for the shapes of the last prepare().
  FirstWeights first_weights(int64_t workers) const;
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * rows_ * depth() * outputs * groups; }

 private:
  int64_t taps() const { return window.kernel_h * window.kernel_w; }
  int64_t depth() const { return taps() * channels; }
  bool has_prologue() const { return kHasPrologue && prologue.applies; }
  // Returns whether dot products are faster for rows that consist of `pieces` pieces of `piece` contiguous floats.
  bool prefers_dots(int64_t pieces, int64_t piece) const;
  // Returns whether each output pixel reads one pixel of the input, at the same place.
  bool has_pixel_window() const {
    return taps() == 1 && window.stride_h == 1 && window.stride_w == 1 && window.pad_h == 0 && window.pad_w == 0;
  }
  // The number of pieces that the channels of a pixel consist of. A piece is contiguous in one source.
  int64_t pieces() const { return channels / piece_; }
  Packing packing() const { return packing_of(*kernels); }
  // Returns the memory for the pointers to rows of the LHS, in floats.
  int64_t pointer_floats() const {
    return round_up((has_lines_ ? depth() : block_ * (gathers_ ? 1 : taps() * pieces())) * 2, 16);
  }
  int64_t line_buffer_floats() const {
    if (has_lines_) return channels * window.kernel_h * line_floats();
    if (gathers_) return window_floats();
    return has_prologue() ? round_up(block_ * depth(), 16) : 0;
  }
  // Returns the memory for one panel of weights that is converted to float32, in floats.
  int64_t widened_floats() const { return weights.is_widened() ? round_up(depth() * packing().panel, 16) : 0; }
  // Returns the bfloat16 microkernels, or null if the input is not rounded to bfloat16.
  const Bf16PairMicrokernels* pairs() const;
  int64_t rounded_floats() const {
    return pairs() ? round_up(block_ * padded_pairs(depth_of_part(1, depth())), 16) : 0;
  }
  int64_t staged_floats() const { return is_staged_ ? round_up(std::min(block_, rows_) * groups * outputs, 16) : 0; }
  // Returns the scratch memory of a worker in floats: pointers, gathered rows or lines, converted weights, rounded
  // rows, staged results.
  int64_t worker_floats() const {
    return pointer_floats() + line_buffer_floats() + widened_floats() + rounded_floats() + staged_floats();
  }
  float* widened(float* scratch) const { return scratch + pointer_floats() + line_buffer_floats(); }
  uint32_t* rounded(float* scratch) const { return reinterpret_cast<uint32_t*>(widened(scratch) + widened_floats()); }
  float* staged(float* scratch) const { return scratch + worker_floats() - staged_floats(); }
  // Returns the floats in a padded line of the input.
  int64_t line_floats() const {
    return round_up((out_.sizes[2] - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1, 16);
  }
  // Returns the memory of gather() in floats: the rows of the LHS, then padded lines of the input.
  int64_t window_floats() const;
  int64_t gathered_floats() const;  // of the rows of the LHS
  int64_t window_columns() const;   // the pixels in a padded line of the input
  int64_t most_window_lines() const;
  // Returns the number of input lines that adjacent lines of the output read.
  int64_t window_lines(int64_t out_lines) const;

  // The steps of prepare(), in this order. Each may use the members that the steps before have set.
  Error set_output(const Image& out);
  Error set_residual(const Image* residual);
  Error choose_lhs();  // sets how the LHS is read, and the pieces of a pixel
  Error check_prologue() const;
  int64_t rows_of_block() const;  // the rows whose input stays in the cache
  Error check_windows() const;
  Error choose_piece();

  // Returns a pointer to row m of the output.
  float* pixel(int64_t m) const;
  // Computes the only row.
  void run_row(KernelRuntimeContext& context, int64_t workers) const;
  bool is_by_columns(int64_t workers) const;
  // Compute rows [m0, m1) and panels [p0, p1) of all groups.
  void part(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1, const Ahead& ahead) const;
  // Computes the rows of a block, from row m on, as dot products.
  void multiply_dots(const Panels& block, int64_t m, float* to) const;
  void part_of_lines(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1) const;
  void fill_lines(int64_t row, float* to) const;
  void store_staged(const float* from, int64_t m, int64_t count, int64_t p0, int64_t p1) const;
  void set_row_pointers(int64_t m, int64_t count, const float** rows) const;
  void set_row_pointers(const Image& in, int64_t m, int64_t count, int64_t piece, const float** rows) const;
  void fill_window_lines(const float* image, int64_t first, int64_t count, float* to) const;
  void gather(int64_t m, int64_t count, float* to) const;
  int64_t row_gap() const;
  Ahead next_lines(int64_t m, int64_t count) const;
  Ahead next_rows(int64_t m, int64_t count) const;
  void apply_prologue(int64_t m, int64_t count, const float** rows, float* to) const;

  Sources in_;
  Image out_, residual_;
  int64_t piece_ = 1;  // channels of a piece; it divides the number of channels of every source
  bool has_residual_ = false;
  int64_t rows_ = 0;   // of the LHS: pixels of the output
  int64_t block_ = 1;  // the most rows whose pointers are written, or whose windows are gathered, at a time
  int64_t in_step_ = 0, out_step_ = 0, residual_step_ = 0;  // floats from pixel to pixel
  // How the LHS is read. By default, set_row_pointers() writes a pointer for each row and tap.
  bool is_plain_ = false;   // row i of the LHS is pixel i of the input
  bool gathers_ = false;    // gather() copies the windows of a block to memory
  bool has_lines_ = false;  // the pixels of a channel are contiguous: part_of_lines() reads lines as columns of the LHS
  bool has_dots_ = false;   // dot products compute the output
  bool is_apart_ = false;   // the distance between lines of the output is not constant
  bool is_staged_ = false;  // such lines are so short that blocks of several lines are computed and then copied
};

}  // namespace rushlight::microkernels
