// Convolutions of channels-last int8 images and GEMMs with constant weights, as GEMMs with packed weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/conv/int8.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/image.h"
#include "microkernels/tables/f32_packed.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::microkernels {

// A convolution of an image [n, h, w, groups * channels] to [n, out_h, out_w, groups * outputs]. A GEMM of m rows is a
// convolution of an image [1, 1, m, channels] with a window of one tap. The results are int8 (see Requantize) or
// float32 (see Int8Gemm::Out::Float32).
class PackedInt8Conv {
 public:
  // The owner sets these once.
  const Int8Microkernels* kernels = &int8_microkernels();
  const F32Microkernels* f32_kernels = &f32_microkernels();  // for the epilogue
  Window window{};
  int64_t groups = 1, channels = 1, outputs = 1;  // input and output channels of one group
  const uint8_t* weights = nullptr;               // `groups` matrices packed by pack_rhs(), matrix_bytes() apart
  const float* multipliers = nullptr;             // [groups * outputs]
  const float* offsets = nullptr;                 // [groups * outputs] or null
  int32_t zero = 0;                               // zero point of the input, unless Operands::row_zeros is set
  bool gives_floats = false;
  // For int8 results:
  const int32_t* corrections = nullptr;  // [groups * outputs], from zero_corrections()
  Int8Range range{};
  Int8Sum sum{};  // how a residual is added; the address of the residual is in Operands
  // For float32 results:
  Epilogue epilogue{};  // the address of the residual is in Operands

  // The memory of one run. A byte XOR its sign mask is an int8 number.
  struct Operands {
    const void* in = nullptr;
    uint8_t in_mask = 0;
    void* out = nullptr;
    uint8_t out_mask = 0;
    const void* residual = nullptr;  // has the shape and type of the output; may be the output, or null
    uint8_t residual_mask = 0;
    // For float32 results: scales and zero points of the input. The input consists of `scale_rows` parts with the same
    // number of output pixels; each part has a scale and a zero point. Null: the scale is 1, and the zero point is
    // `zero`.
    const float* row_scales = nullptr;
    const int32_t* row_zeros = nullptr;
    int64_t scale_rows = 1;
  };

  // Returns the number of terms of a sum.
  int64_t depth() const { return window.kernel_h * window.kernel_w * channels; }
  // Returns the bytes from the packed matrix of a group to that of the next group, a multiple of 64.
  size_t matrix_bytes() const;
  const uint8_t* matrix(int64_t group) const { return weights + static_cast<size_t>(group) * matrix_bytes(); }

  // Sets the sizes [n, h, w, c] of the input and of the output. Returns false if a line of the window is too long.
  bool prepare(const int64_t* in, const int64_t* out);
  // Returns the number of output pixels of all images.
  int64_t pixels() const { return pixels_; }
  // Returns whether each output pixel depends only on the input pixel at the same position.
  bool is_pointwise() const { return window_.is_pointwise(); }
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * pixels_ * groups * outputs * depth(); }
  // Returns the bytes of scratch memory of each worker, a multiple of 64.
  size_t worker_bytes() const;
  // Returns the weights that run() reads first.
  FirstWeights first_weights(int64_t workers) const;
  // Computes the output. `scratch` has worker_bytes() for each worker and is aligned to 64 bytes. `next` are the
  // weights of the next step, which run() prefetches. Results do not depend on the number of workers.
  void run(KernelRuntimeContext& context, int64_t workers, const Operands& operands, void* scratch,
           const FirstWeights& next = {}) const;

 private:
  // Output pixels [begin, end) and columns [n0, n1) of a group.
  struct Part {
    int64_t group, begin, end, n0, n1;
    uint8_t* scratch;
    Ahead ahead;
  };

  int64_t workers_of(int64_t workers) const;
  bool is_by_columns(int64_t workers) const { return pixels_ < 2 * kernels->rows * workers && groups == 1; }
  bool reads_in_place() const { return !gives_floats && batch_ == 1; }
  size_t product_bytes() const;
  void multiply(const Operands& operands, const Part& part) const;
  void set_lhs(const Part& part, const Int8Window& window, Int8LhsPacker* lhs, Int8Gemm* gemm) const;
  void multiply_to_int8(const Operands& operands, const Part& part, Int8Window& window, Int8Gemm& gemm) const;
  void multiply_to_floats(const Operands& operands, const Part& part, Int8Window& window, Int8Gemm& gemm) const;
  void multiply_and_add(const Int8Gemm& gemm, const float* residual, const Part& part) const;
  void finish(float* to, const float* residual, int64_t count) const;

  Int8Window window_{};
  int64_t batch_ = 0, pixels_ = 0;
};

}  // namespace rushlight::microkernels
