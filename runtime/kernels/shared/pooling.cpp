#include "kernels/shared/pooling.h"

#include <algorithm>

namespace rushlight {

bool read_pooling(KernelRuntimeContext& context, const Tensor& in, int64_t dims, Span<const int64_t> kernel,
                  Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation, bool ceil_mode,
                  Pooling* pooling) {
  if (in.dim() != dims + 1 && in.dim() != dims + 2) {
    context.fail(Error::InvalidArgument, "pooling needs a tensor of rank %lld or %lld, not %lld",
                 static_cast<long long>(dims + 1), static_cast<long long>(dims + 2), static_cast<long long>(in.dim()));
    return false;
  }
  Window3d& w = pooling->window;
  pooling->dims = dims;
  pooling->ceil_mode = ceil_mode;
  if (!read_window_field(context, "kernel_size", kernel, dims, 1, w.kernel)) return false;
  std::copy(w.kernel, w.kernel + 3, w.stride);
  if (!read_window_field(context, "stride", stride, dims, 1, w.stride) ||
      !read_window_field(context, "padding", padding, dims, 0, w.padding) ||
      !read_window_field(context, "dilation", dilation, dims, 1, w.dilation)) {
    return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (w.padding[i] > 0 && 2 * w.padding[i] > w.dilation[i] * (w.kernel[i] - 1) + 1) {
      context.fail(Error::InvalidArgument, "padding %lld is more than half of a window of size %lld",
                   static_cast<long long>(w.padding[i]), static_cast<long long>(w.kernel[i]));
      return false;
    }
  }
  return true;
}

bool pooled_shape(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Shape* shape) {
  const int64_t first = in.dim() - pooling.dims;
  for (int64_t i = 0; i < first; ++i) shape->push(in.size(i));
  for (int64_t i = 0; i < pooling.dims; ++i) {
    const int axis = static_cast<int>(3 - pooling.dims + i);
    const Window3d& w = pooling.window;
    const int64_t size = pooled_size(in.size(first + i), w.kernel[axis], w.stride[axis], w.padding[axis],
                                     w.dilation[axis], pooling.ceil_mode);
    if (size <= 0) {
      context.fail(Error::InvalidArgument, "a window of size %lld does not fit into dim %lld of size %lld",
                   static_cast<long long>(w.kernel[axis]), static_cast<long long>(first + i),
                   static_cast<long long>(in.size(first + i)));
      return false;
    }
    shape->push(size);
  }
  return true;
}

bool adaptive_shape(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size, Shape* shape) {
  const int64_t dims = static_cast<int64_t>(output_size.size());
  bool fits = dims >= 1 && dims <= 3 && (in.dim() == dims + 1 || in.dim() == dims + 2);
  *shape = Shape(in.sizes());
  for (int64_t i = 0; fits && i < dims; ++i) {
    const int64_t size = output_size[static_cast<size_t>(i)];
    fits = size == 0 || in.size(in.dim() - dims + i) > 0;
    shape->set(in.dim() - dims + i, size);
  }
  if (!fits) {
    context.fail(Error::InvalidArgument, "a tensor of rank %lld cannot be pooled over its last %lld dims",
                 static_cast<long long>(in.dim()), static_cast<long long>(dims));
  }
  return fits;
}

}  // namespace rushlight
