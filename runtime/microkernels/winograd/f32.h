// Winograd convolutions of 3 x 3. A stride of 1 uses F(m x m, 3 x 3) with m = 2, 3 or 4 (Lavin and Gray 2016). A stride
// of 2 uses F(2, 2) for the even rows and columns, and adds the odd ones to the same sums, so that 2 x 2 outputs need
// 25 multiplications instead of 36.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/rounding.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/image.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight::microkernels {

// A convolution of channels-last float32 images [n, h, w, groups * channels] to [n, out_h, out_w, groups * outputs].
class PackedWinograd {
 public:
  // The owner sets these once. `m` is the number of outputs of a tile along an axis: 2 to 4, or 2 if the stride is 2.
  const F32Microkernels* kernels = nullptr;
  int64_t m = 4, stride = 1, pad_h = 0, pad_w = 0;
  int64_t groups = 1, channels = 0, outputs = 0;  // input and output channels of a group
  Epilogue epilogue;                              // `residual` is an argument of run()
  const float* weights = nullptr;  // for each point and group, a packed matrix [terms(point) * channels, outputs]
  const float* bias = nullptr;     // [groups * outputs] or null

  // Sets the shapes of the operands. `residual` may be null. Returns InvalidProgram if the shapes do not match.
  Error prepare(const Sources& in, const Image& out, const Image* residual);
  // Returns the scratch memory of run() in floats, for the shapes of the last prepare(). It is aligned to 64 bytes.
  size_t scratch_floats(int64_t workers) const;
  // Computes the output. `in` contains a pointer to each source. Results do not depend on the number of workers.
  void run(KernelRuntimeContext& context, int64_t workers, const float* const* in, float* out, const float* residual,
           float* scratch);
  // Returns the number of multiplications and additions of the direct convolution.
  int64_t work() const { return 2 * out_.numel() * channels * 9; }

  // Returns the number of transformed numbers of a tile.
  int64_t points() const { return axis_points() * axis_points(); }
  // Returns the number of matrices whose products are added up for a point.
  int64_t terms(int64_t point) const { return axis_terms(point / axis_points()) * axis_terms(point % axis_points()); }

 private:
  struct Place {
    int64_t image, line, column;
  };
  Place place(int64_t tile) const {
    const int64_t line = tile / tile_columns_;
    return {line / tile_rows_, line % tile_rows_ * m, tile % tile_columns_ * m};
  }
  const WinogradTransforms& transforms() const {
    return stride == 2 ? kernels->packed->winograd_apart : kernels->packed->winograd(m);
  }
  // Returns the number of inputs of a tile along an axis.
  int64_t axis_inputs() const { return stride == 2 ? 5 : m + 2; }
  int64_t axis_points() const { return stride == 2 ? 3 : m + 2; }
  // Returns the number of inputs that a point on an axis reads. With a stride of 2, point 0 reads inputs 0 and 1, point
  // 1 reads input 2, and point 2 reads inputs 3 and 4.
  int64_t axis_terms(int64_t point) const { return stride == 2 && point != 1 ? 2 : 1; }
  int64_t axis_first(int64_t point) const { return stride == 2 && point > 0 ? point + 1 : point; }
  int64_t inputs() const { return axis_inputs() * axis_inputs(); }
  int64_t terms_before(int64_t point) const {
    int64_t count = 0;
    for (int64_t i = 0; i < point; ++i) count += terms(i);
    return count;
  }
  // Returns the floats from one input or point to the next. Padding avoids powers of two, with which they would use the
  // same cache sets.
  int64_t input_step(int64_t count) const { return count * groups * channels + 16; }
  int64_t product_step(int64_t count) const { return count * groups * outputs + 16; }
  int64_t input_floats(int64_t count) const { return round_up(inputs() * input_step(count), 16); }
  int64_t product_floats(int64_t count) const { return round_up(points() * product_step(count), 16); }
  int64_t row_floats(int64_t count) const { return round_up(2 * count * terms(0), 16); }
  // Returns the memory in floats for the pointers to rows, and for a byte for each tile: whether its numbers may be
  // transformed.
  int64_t pointer_floats(int64_t count) const { return row_floats(count) + round_up(count, 64) / 4; }
  uint8_t* flags(float* pointers, int64_t count) const {
    return reinterpret_cast<uint8_t*>(pointers + row_floats(count));
  }

  void run_together(KernelRuntimeContext& context, int64_t workers, float* scratch) const;
  bool transform(int64_t first, int64_t index, int64_t count, float* input) const;
  void product(int64_t point, int64_t count, const float* input, float* products, const float** rows) const;
  void finish(int64_t first, int64_t index, int64_t count, const float* products) const;
  // Computes a tile by direct convolution, with weights that are computed from the transformed weights. It is used for
  // tiles with NaN or infinities, which a transform would spread to other outputs.
  void finish_directly(int64_t tile) const;
  // Adds the results of a direct convolution to `sums`. `first` is an output channel of the group.
  void add_directly(const Place& at, int64_t group, int64_t first, int64_t columns, float* sums) const;
  void find_filter(int64_t ky, int64_t kx, int64_t group, int64_t c, int64_t first, int64_t columns,
                   float* filter) const;

  Sources in_;
  Image out_;
  const float* residual_ = nullptr;
  int64_t tile_rows_ = 0, tile_columns_ = 0, count_ = 0, most_ = 1;
};

}  // namespace rushlight::microkernels
