#pragma once

#include <cstdint>

#include "kernels/shared/window.h"

namespace rushlight {

// The arguments of a pooling operator over `dims` spatial dims.
struct Pooling {
  int64_t dims = 2;
  Window window;
  bool ceil_mode = false;
};

// Checks the arguments and fills `pooling`; an empty stride is the kernel's size. `in` may lack the batch dim.
bool read_pooling(KernelRuntimeContext& context, const Tensor& in, int64_t dims, Span<const int64_t> kernel,
                  Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation, bool ceil_mode,
                  Pooling* pooling);

// The shape of the pooled tensor; fails if a size is not positive.
bool pooled_shape(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Shape* shape);

// Averages. `divisor`, unless 0, replaces the number of elements.
struct AveragePooling : Pooling {
  bool count_padding = true;
  int64_t divisor = 0;
};

void average_pool(KernelRuntimeContext& context, const AveragePooling& pooling, const Tensor& in, Tensor& out);
void max_pool(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices);

// Averages over windows that divide each of the last `output_size.size()` dims evenly.
void adaptive_average_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                           Tensor& out);

}  // namespace rushlight
