#pragma once

#include "backends/cpu/step.h"

namespace rushlight::cpu {

// How a window moves over an image [n, h, w, c]; pads are those before the first row and column, zeros lie beyond
// every edge.
struct Window {
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_h, pad_w;
  int64_t dilation_h, dilation_w;
};

// Eight ints from `first` on, in the order of the members.
inline Window read_window(Binder& binder, uint32_t first) {
  Window w{};
  w.kernel_h = binder.integer(first, 1, 1 << 12);
  w.kernel_w = binder.integer(first + 1, 1, 1 << 12);
  w.stride_h = binder.integer(first + 2, 1, 1 << 16);
  w.stride_w = binder.integer(first + 3, 1, 1 << 16);
  w.pad_h = binder.integer(first + 4, 0, 1 << 16);
  w.pad_w = binder.integer(first + 5, 0, 1 << 16);
  w.dilation_h = binder.integer(first + 6, 1, 1 << 16);
  w.dilation_w = binder.integer(first + 7, 1, 1 << 16);
  return w;
}

inline int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
inline int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Work below which a hand-off to another thread does not pay, in multiplications.
inline constexpr int64_t kSerialWork = 1 << 15;

}  // namespace rushlight::cpu
