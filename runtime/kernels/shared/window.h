#pragma once

#include <cstdint>

#include "core/window.h"
#include "kernels/shared/shape.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Copies `values` (one for all dimensions, or one for each of `dims`) to the last `dims` entries of `field`. An empty
// list changes nothing. If a value is not in [minimum, 2^31), records the failure and returns false.
bool read_window_field(KernelRuntimeContext& context, const char* name, Span<const int64_t> values, int64_t dims,
                       int32_t minimum, int64_t (&field)[3]);

// The sizes and strides of a tensor [batch, channels, spatial...] or [channels, spatial...], extended to a batch and
// three spatial dimensions.
struct ImageLayout {
  int64_t batch = 1, channels = 1;
  int64_t size[3] = {1, 1, 1};
  int64_t batch_stride = 0, channel_stride = 0;
  int64_t stride[3] = {0, 0, 0};

  // `tensor` must have `dims` spatial dimensions, and one or two more.
  ImageLayout(const Tensor& tensor, int64_t dims);
  int64_t volume() const { return size[0] * size[1] * size[2]; }
};

// Returns the number of positions of a window along a dimension. With `ceil_mode`, the last window may extend beyond
// the end of the padded input, if it starts before its end. Returns a number below 1 if there are none.
int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

}  // namespace rushlight
