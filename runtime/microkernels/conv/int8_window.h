// The window of a convolution over int8 images, for Int8Gather and Int8LhsPacker.
#pragma once

#include "microkernels/conv/int8.h"
#include "microkernels/image.h"

namespace rushlight::microkernels {

// Sizes of the input and the output: [n, h, w, c]. But for where the input lies and what padding holds.
inline Int8Window int8_window(const Window& w, const int64_t* in, const int64_t* out) {
  Int8Window b{};
  static_cast<Window3d&>(b) = with_depth(w);
  b.channels = in[3];
  const int64_t size[] = {1, in[1], in[2]}, out_size[] = {1, out[1], out[2]};
  for (int i = 0; i < 3; ++i) b.size[i] = size[i], b.out_size[i] = out_size[i];
  return b;
}

}  // namespace rushlight::microkernels
