#pragma once

#include <cstdint>

#include "kernels/shared/window.h"

namespace rushlight {

// The arguments of a pooling operator over `dims` spatial dimensions.
struct Pooling {
  int64_t dims = 2;
  Window3d window;
  bool ceil_mode = false;
};

// Checks the arguments and fills `pooling`. An empty stride means the size of the kernel. `in` may have no batch
// dimension.
bool read_pooling(KernelRuntimeContext& context, const Tensor& in, int64_t dims, Span<const int64_t> kernel,
                  Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation, bool ceil_mode,
                  Pooling* pooling);

// Sets the shape of the pooled tensor. Fails if a size is not positive.
bool pooled_shape(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Shape* shape);

// Computes averages. If `divisor` is not 0, it replaces the number of elements.
struct AveragePooling : Pooling {
  bool count_padding = true;
  int64_t divisor = 0;
};

void average_pool(KernelRuntimeContext& context, const AveragePooling& pooling, const Tensor& in, Tensor& out);
void max_pool(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices);

// Sets the shape of a tensor whose last dimensions are pooled to `output_size`. Fails if this is impossible.
bool adaptive_shape(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size, Shape* shape);
// Computes the input positions [begin, end) of window `position`, where `count` windows divide `size` positions evenly.
inline void adaptive_range(int64_t position, int64_t size, int64_t count, int64_t* begin, int64_t* end) {
  *begin = position * size / count;
  *end = ((position + 1) * size + count - 1) / count;
}

// Computes averages over windows that divide each of the last `output_size.size()` dimensions evenly.
void adaptive_average_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                           Tensor& out);
void adaptive_max_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size, Tensor& out,
                       Tensor& indices);

}  // namespace rushlight
