// Depthwise convolutions of channels-last images.
#pragma once

#include <cstdint>

#include "microkernels/image.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight::microkernels {

// Returns whether the tiles for a window compute two rows of output, which share lines of the input.
bool has_two_rows(const Window& w);

// A depthwise convolution of images [n, h, w, channels] to [n, out_h, out_w, channels].
class PackedDepthwise {
 public:
  static constexpr int64_t kMaxRows = 256;  // rows of a window

  // The owner sets these once.
  const F32Microkernels* kernels = nullptr;
  Window window{};
  Epilogue epilogue;               // without a residual
  const float* weights = nullptr;  // [kernel_h, kernel_w, channels]
  const float* bias = nullptr;     // [channels] or null
  int64_t channels = 0;

  // Sets the shapes of the operands. Returns InvalidProgram if they do not match.
  Error prepare(const Image& in, const Image& out);
  // Computes the output of all images.
  void run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out);
  // Rows of the output of one image, and the rows of the input that they need.
  struct Rows {
    int64_t y, count;  // the rows [y, y + count) of the output
    const float* in;   // a ring buffer: row i of the input is row i % ring of `in`
    int64_t ring;
    float* out;                    // row y
    int64_t row_step, pixel_step;  // floats from row to row and from pixel to pixel of `out`
  };
  void compute(const Rows& rows) const { compute(rows, 0, out_.sizes[2]); }
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * out_.numel() * window.kernel_h * window.kernel_w; }

 private:
  struct Part {
    int64_t channel, channels;
    int64_t column, columns;  // output columns
  };
  // Computes the columns [first, last) of the output.
  void compute(const Rows& rows, int64_t first, int64_t last) const;
  // Computes a part of rows [row, row + count) of `rows`, with one call of the microkernel.
  void compute(const Rows& rows, const Part& part, int64_t row, int64_t count) const;

  Image in_, out_;
};

}  // namespace rushlight::microkernels
