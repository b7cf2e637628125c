// Grouped convolutions of channels-last int8 images with few channels in each group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/conv/int8.h"
#include "microkernels/image.h"
#include "microkernels/tables/int8.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::microkernels {

// A convolution of images [n, h, w, channels] to [n, out_h, out_w, channels]. Each group has `size` input channels and
// `size` output channels. A vector of sums contains the output channels of one or more whole groups, or a part of one
// group. A result is (sum of products + bias) * multiplier + offset, quantized as Requantize describes.
class PackedInt8Groups {
 public:
  static constexpr int64_t kMaxTaps = 1 << 14, kMaxLine = 1 << 30;

  // The owner sets these once, before pack().
  const Int8Microkernels* kernels = &int8_microkernels();
  Window window{};
  int64_t channels = 0;  // of all groups
  int64_t size = 4;      // channels of a group: 4, 8 or 16
  int32_t zero = 0;      // zero point of the input
  Int8Range range{};
  const float* multipliers = nullptr;  // [channels]
  const float* offsets = nullptr;      // [channels] or null

  // The memory of one run. A byte XOR its sign mask is an int8 number.
  struct Operands {
    const void* in = nullptr;
    uint8_t in_mask = 0;
    void* out = nullptr;
    uint8_t out_mask = 0;
  };

  // Returns the number of bytes that pack() writes. The owner allocates them, aligned to 64 bytes.
  size_t packed_bytes() const;
  // Packs filters [channels, taps, size].
  void pack(const int8_t* filters, uint8_t* to);

  // Sets the sizes [n, h, w, c] of the input and of the output. Returns false if a line is too long.
  bool prepare(const int64_t* in, const int64_t* out);
  // Returns the number of multiplications and additions.
  int64_t work() const { return 2 * rows() * window_.out_size[2] * channels * window.taps() * size; }
  // Returns the bytes of scratch memory of each worker, a multiple of 64.
  size_t worker_bytes() const;
  // Computes the output. `scratch` has worker_bytes() for each worker and is aligned to 64 bytes.
  void run(KernelRuntimeContext& context, int64_t workers, const Operands& operands, void* scratch) const;

 private:
  int64_t rows() const { return batch_ * window_.out_size[1]; }
  bool is_repeated() const { return size < kernels->lanes; }
  int64_t blocks() const;
  int64_t block_bytes() const;
  int64_t line_bytes() const { return columns_ * channels * kernels->lhs_size; }
  int64_t pixel_bytes() const;
  int64_t lines(int64_t rows) const;
  int64_t image_bytes() const;
  int64_t repeated_bytes() const;
  int64_t sum_bytes() const;
  void run_rows(const Operands& operands, int64_t begin, int64_t end, uint8_t* scratch) const;
  void run_block(const Operands& operands, int64_t block, int64_t begin, int64_t rows, uint8_t* scratch) const;

  const int8_t* weights_ = nullptr;       // [blocks, taps, units, lanes, numbers of a unit]
  const int32_t* corrections_ = nullptr;  // [channels]
  Int8Window window_{};
  int64_t batch_ = 0;
  int64_t columns_ = 0;   // pixels of a padded line
  int64_t max_rows_ = 1;  // output rows whose input is prepared at a time
};

}  // namespace rushlight::microkernels
