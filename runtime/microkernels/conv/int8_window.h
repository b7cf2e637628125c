// The window of a convolution over int8 images, for Int8Gather and Int8LhsPacker.
#pragma once

#include "microkernels/conv/int8.h"
#include "microkernels/image.h"

namespace rushlight::microkernels {

// Returns a window for sizes [n, h, w, c] of the input and the output. The caller sets `in`, `sign_mask` and `zero`.
inline Int8Window int8_window(const Window& w, const int64_t* in, const int64_t* out) {
  Int8Window b{};
  static_cast<Window3d&>(b) = with_depth(w);
  b.channels = in[3];
  const int64_t size[] = {1, in[1], in[2]}, out_size[] = {1, out[1], out[2]};
  for (int i = 0; i < 3; ++i) b.size[i] = size[i], b.out_size[i] = out_size[i];
  return b;
}

}  // namespace rushlight::microkernels
