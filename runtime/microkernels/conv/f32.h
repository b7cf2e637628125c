// Convolutions, and products with constant matrices, as products with packed weights. The rows of the LHS are addresses
// of pixels, so that nothing is copied or padded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/rounding.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/image.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight::microkernels {

// What becomes of the input before it is multiplied.
struct ImagePrologue {
  bool applies = false;
  Prologue rows;                           // of the first image
  int64_t scale_step = 0, shift_step = 0;  // floats to the next image's
};

// A convolution of channels-last float32 images [n, h, w, groups * channels] to [n, out_h, out_w, groups * outputs].
class PackedConvolution {
 public:
  // The owner sets these, once. `channels` and `outputs` are those of a group.
  const F32Microkernels* kernels = nullptr;
  Window window{};
  int64_t groups = 1, channels = 0, outputs = 0;
  ImagePrologue prologue;        // of windows of one pixel; the owner sets addresses before each run
  Epilogue epilogue;             // without its residual
  PackedWeights weights;         // of each group a packed [kernel_h * kernel_w * channels, outputs]
  const float* bias = nullptr;   // [groups * outputs, and 64 more that can be read], or null
  const float* zeros = nullptr;  // [groups * channels + 16]
  bool rounds = false;           // whether the input of weights in bfloat16 may be rounded to it

  // Takes note of the operands' shapes; `residual` may be null. Returns InvalidProgram if they do not fit.
  Error prepare(const Sources& in, const Image& out, const Image* residual);
  // Returns the scratch memory, aligned to 64 bytes, for the shapes of the last prepare().
  size_t scratch_floats(int64_t workers) const { return static_cast<size_t>(workers * worker_floats()); }
  // Computes the output; `in` has the address of each source. A result does not depend on the number of workers. `next`
  // says what is read after this step.
  void run(KernelRuntimeContext& context, int64_t workers, const float* const* in, float* out, const float* residual,
           float* scratch, const FirstWeights& next = {});
  // Returns the weights that run() reads first, for the shapes of the last prepare().
  FirstWeights first_weights(int64_t workers) const;
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * rows_ * depth() * outputs * groups; }

 private:
  int64_t taps() const { return window.kernel_h * window.kernel_w; }
  int64_t depth() const { return taps() * channels; }
  // Of a pixel, each in one source.
  int64_t pieces() const { return channels / piece_; }
  Packing packing() const { return packing_of(*kernels); }
  // Addresses of rows, then gathered rows.
  int64_t pointer_floats() const {
    return round_up((has_lines_ ? depth() : block_ * (gathers_ ? 1 : taps() * pieces())) * 2, 16);
  }
  int64_t line_buffer_floats() const {
    if (has_lines_) return channels * window.kernel_h * line_floats();
    return gathers_ || prologue.applies ? round_up(block_ * depth(), 16) : 0;
  }
  // Of a panel of weights that are stored in 16 bits.
  int64_t widened_floats() const { return weights.f16 ? round_up(depth() * packing().panel, 16) : 0; }
  // Null if the input stays as it is.
  const Bf16PairMicrokernels* pairs() const;
  int64_t rounded_floats() const { return pairs() ? round_up(block_ * pairs_of(depth_of_part(1, depth())), 16) : 0; }
  // Of pointers, rows or lines, weights, and rounded rows, in this order.
  int64_t worker_floats() const {
    return pointer_floats() + line_buffer_floats() + widened_floats() + rounded_floats();
  }
  float* widened(float* scratch) const { return scratch + pointer_floats() + line_buffer_floats(); }
  uint32_t* rounded(float* scratch) const { return reinterpret_cast<uint32_t*>(widened(scratch) + widened_floats()); }
  // Of a line of the input under a row of the output, edges included.
  int64_t line_floats() const {
    return round_up((out_.sizes[2] - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1, 16);
  }

  // Where row m of the output begins.
  float* pixel(int64_t m) const;
  void run_row(KernelRuntimeContext& context, int64_t workers) const;
  bool is_by_columns(int64_t workers) const;
  void part(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1, const Ahead& ahead) const;
  void part_of_lines(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1) const;
  void fill_lines(int64_t row, float* to) const;
  void address(int64_t m, int64_t count, const float** rows) const;
  void address(const Image& in, int64_t m, int64_t count, int64_t piece, const float** rows) const;
  void gather(int64_t m, int64_t count, float* to) const;
  int64_t row_gap() const;
  Ahead next_rows(int64_t m, int64_t count) const;
  void apply_prologue(int64_t m, int64_t count, const float** rows, float* to) const;

  Sources in_;
  Image out_, residual_;
  int64_t piece_ = 1;  // channels that lie together, as many in each source's pieces
  bool has_residual_ = false;
  int64_t rows_ = 0, block_ = 1;
  int64_t in_step_ = 0, out_step_ = 0, residual_step_ = 0;
  // Lines: each channel's pixels lie next to each other, and are read as columns of the LHS.
  bool is_plain_ = false, gathers_ = false, has_lines_ = false, is_apart_ = false;
};

}  // namespace rushlight::microkernels
