// Pooling of channels-last int8 images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/window.h"
#include "microkernels/pool/axis.h"
#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Computes the maxima or means of the windows of an image [n, h, w, c].
class Int8Pool2d {
 public:
  static constexpr int64_t kMaxTaps = 1 << 14;

  // The owner sets these once. taps() is at most kMaxTaps.
  Window window{};
  Int8Range range{};  // range and zero point of the results; maxima use only the bounds
  bool is_maximum = false;
  // For means:
  bool counts_padding = false;  // whether the divisor counts the taps in the padding
  int64_t divisor = 0;          // divisor of the sum of each window, or 0 for the number of taps in the window
  int32_t zero = 0;             // zero point of the input
  float factor = 1;             // scale of the input divided by the scale of the output

  int64_t taps() const { return window.kernel_h * window.kernel_w; }
  // Sets the sizes [n, h, w, c] of the input and of the output, which have the same n and c.
  void prepare(const int64_t* in, const int64_t* out);
  // Returns the number of output lines of all images.
  int64_t rows() const { return out_[0] * out_[1]; }
  // Returns the bytes of scratch memory of each worker, a multiple of 64.
  size_t worker_bytes() const;
  // Computes lines [begin, end) of the output. `scratch` is aligned to 64 bytes.
  void run(const int8_t* in, int8_t* out, int64_t begin, int64_t end, void* scratch) const;

 private:
  PoolAxis height() const;
  PoolAxis width() const;
  size_t source_bytes() const;
  void maxima(const int8_t* image, int64_t y, int8_t* to, uint8_t* scratch) const;
  void means(const int8_t* image, int64_t y, int8_t* to, uint8_t* scratch) const;
  int64_t divisor_of(int64_t y, int64_t x, int64_t count) const;

  int64_t in_[4] = {}, out_[4] = {};
};

}  // namespace rushlight::microkernels
