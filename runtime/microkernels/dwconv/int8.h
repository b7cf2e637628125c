// Depthwise convolutions of channels-last int8 images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/image.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// A depthwise convolution of images [n, h, w, channels] to [n, out_h, out_w, channels]. A result is (sum of products +
// bias) * multiplier + offset, quantized as Requantize describes.
class PackedInt8Depthwise {
 public:
  static constexpr int64_t kMaxTaps = 1 << 14, kMaxColumns = 1 << 24;

  // The owner sets these once, before pack(). Only pack() reads the bias.
  Window window{};
  int64_t channels = 0;
  int32_t zero = 0;  // zero point of the input
  Int8Range range{};
  const float* multipliers = nullptr;  // [channels]
  const float* offsets = nullptr;      // [channels] or null
  const int32_t* bias = nullptr;       // [channels] or null

  int64_t taps() const { return window.kernel_h * window.kernel_w; }
  // Returns the number of bytes that pack() writes. The owner allocates them, aligned to 64 bytes.
  size_t packed_bytes() const;
  // Packs weights [taps, channels].
  void pack(const int8_t* filters, uint8_t* to);

  // Sets the sizes [n, h, w, c] of the input and of the output. Returns false if a row is too long.
  bool prepare(const int64_t* in, const int64_t* out);
  // Returns the number of output rows of all images.
  int64_t rows() const { return out_[0] * out_[1]; }
  // Returns the bytes of scratch memory of a worker, aligned to 64 bytes, for output rows of `width` pixels.
  size_t worker_bytes(int64_t width) const;
  // Computes output rows [begin, end). It reads up to 15 bytes after the end of the input.
  void run(const int8_t* in, uint8_t* out, int64_t begin, int64_t end, void* scratch) const;

 private:
  // The loops of Int8Loops that compute the results: scale_channels() for windows of one pixel, depthwise_3x3(),
  // depthwise_quads() or depthwise_window() for small windows, or depthwise().
  enum class Algorithm : uint8_t { Pixel, Block3x3, Quads, Window, Taps };

  Algorithm algorithm() const;
  bool is(Algorithm wanted) const { return algorithm() == wanted; }
  int64_t block_channels() const;
  int64_t weight_bytes() const;
  int64_t blocks() const;
  int64_t block_bytes() const;
  int64_t tap_bytes() const;
  int64_t pair_bytes() const;
  int64_t columns(int64_t width) const;
  int64_t max_rows(int64_t width) const;
  int64_t lines(int64_t rows) const;
  void set_line(const int8_t* pixels, const int8_t** to) const;
  void convolve_3x3(const int8_t* const* sources, int64_t rows, int64_t block, uint8_t* out) const;
  void convolve_quads(const int8_t* const* sources, int64_t block, uint8_t* scratch, uint8_t* out) const;
  void convolve(const int8_t* const* sources, int64_t rows, int64_t block, int32_t* sums, uint8_t* out) const;

  const Int8Microkernels& kernels_ = int8_microkernels();
  uint8_t* weights_ = nullptr;
  int32_t* corrections_ = nullptr;
  int8_t* padding_ = nullptr;
  int64_t* places_ = nullptr;  // [taps], offset of each tap in a row of source pointers
  int64_t in_[4] = {}, out_[4] = {};
  int64_t columns_ = 0;
};

}  // namespace rushlight::microkernels
