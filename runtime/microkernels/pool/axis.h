// The windows of a pooling along the height or the width of an image.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/rounding.h"

namespace rushlight::microkernels {

struct PoolAxis {
  // The taps [first, last) of a window that lie inside the image.
  struct Taps {
    int64_t first, last;
    int64_t count() const { return last - first; }
  };

  int64_t size;     // of the image
  int64_t results;  // number of windows
  int64_t kernel, stride, pad, dilation;

  // Returns the position of the first tap of a window. It is negative in the padding.
  int64_t start(int64_t window) const { return window * stride - pad; }

  Taps taps(int64_t window) const {
    const int64_t begin = start(window);
    const int64_t first = begin < 0 ? std::min(kernel, divide_up(-begin, dilation)) : 0;
    if (begin >= size) return {first, first};
    return {first, std::max(first, std::min(kernel, divide_up(size - begin, dilation)))};
  }

  // Returns the number of windows from `window` on with the same taps: all whole windows, or one window.
  int64_t similar_windows(int64_t window) const {
    if (taps(window).count() < kernel) return 1;
    const int64_t room = size - start(window) - (kernel - 1) * dilation;
    return std::min(results - window, divide_up(room, stride));
  }

  // Returns the number of taps of a window without dilation that are inside of the image or in its padding of `pad`
  // elements on each side. These are the elements that an average divides by if it counts the padding. There are fewer
  // than `kernel` if the last window, which ceil_mode adds, ends beyond the padding.
  int64_t padded_taps(int64_t window) const { return std::min(start(window) + kernel, size + pad) - start(window); }
};

}  // namespace rushlight::microkernels
