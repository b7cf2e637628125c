// Grouped convolutions of channels-last images with few channels in each group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/image.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight::microkernels {

// A convolution of images [n, h, w, groups * inputs] to [n, out_h, out_w, outputs]. It is computed as a sum of
// depthwise convolutions, one for each plane. Plane i contains, for each output channel, channel i of the group that
// this output channel reads. If the window is 3 x 3 and whole groups fill a vector, the planes are made in registers.
// Otherwise they are made in scratch memory, a few rows at a time.
class PackedGroups {
 public:
  static constexpr int64_t kMaxRows = 16;    // rows of a window
  static constexpr int64_t kMaxInputs = 16;  // input channels of a group

  // The owner sets these once.
  const F32Microkernels* kernels = nullptr;
  Window window{};
  Epilogue epilogue;               // without a residual
  const float* weights = nullptr;  // [inputs, kernel_h, kernel_w, outputs]
  const float* bias = nullptr;     // [outputs] or null
  int64_t groups = 1;
  int64_t inputs = 1;   // input channels of a group
  int64_t outputs = 1;  // output channels of all groups

  // Sets the shapes of the operands. Returns InvalidProgram if they do not match.
  Error prepare(const Image& in, const Image& out);
  // Returns the scratch memory of run() in floats.
  size_t scratch_floats(int64_t workers) const { return static_cast<size_t>(workers * worker_floats()); }
  // Computes the output of all images.
  void run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out, float* scratch) const;
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * out_.numel() * inputs * window.kernel_h * window.kernel_w; }

 private:
  // Output channels [first, first + count) of output rows [begin, end).
  struct Part {
    int64_t first, count;
    int64_t begin, end;
  };

  int64_t worker_floats() const;
  bool reads_in_registers() const;
  void rows_in_registers(const float* in, const Part& part, float* out) const;
  DepthwiseRun run_of(const Part& part) const;
  // Applies the operator of the epilogue, which follows the clamp.
  void apply(const DepthwiseRun& run) const;
  int64_t ring_rows() const { return (window.kernel_h - 1) * window.dilation_h + 1 + window.stride_h; }
  void rows(const float* in, const Part& part, float* out, float* ring) const;

  Image in_, out_;
  int64_t block_ = 0;  // output channels of a part
};

}  // namespace rushlight::microkernels
