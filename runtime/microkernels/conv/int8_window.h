// A convolution's window over bytes, for the tiles.
#pragma once

#include "microkernels/conv/int8.h"
#include "microkernels/image.h"

namespace rushlight::microkernels {

// Sizes of the input and the output: [n, h, w, c]. But for where the input lies and what padding holds.
inline Int8Window int8_window(const Window& w, const int64_t* in, const int64_t* out) {
  Int8Window b{};
  b.channels = in[3];
  const int64_t size[] = {1, in[1], in[2]}, out_size[] = {1, out[1], out[2]};
  const int64_t kernel[] = {1, w.kernel_h, w.kernel_w}, stride[] = {1, w.stride_h, w.stride_w};
  const int64_t padding[] = {0, w.pad_h, w.pad_w}, dilation[] = {1, w.dilation_h, w.dilation_w};
  for (int i = 0; i < 3; ++i) {
    b.size[i] = size[i], b.out_size[i] = out_size[i], b.kernel[i] = kernel[i];
    b.stride[i] = stride[i], b.padding[i] = padding[i], b.dilation[i] = dilation[i];
  }
  return b;
}

}  // namespace rushlight::microkernels
