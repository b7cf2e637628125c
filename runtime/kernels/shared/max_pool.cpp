#include <limits>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_loop.h"
#include "kernels/shared/pooling.h"

namespace rushlight {
namespace {

template <typename T>
T lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return T(-std::numeric_limits<float>::infinity());
  }
}

// Computes the maximum of every box of positions begin[i], begin[i] + step[i], ... below end[i]. It is the last of
// equal ones, or NaN if there is one. `box_of(position, begin, end)` gets the position in the spatial dimensions.
template <typename T, typename BoxOf>
void maximum_of_boxes(KernelRuntimeContext& context, const Tensor& in, int64_t dims, const int64_t (&step)[3],
                      int64_t work, Tensor& out, Tensor& indices, const BoxOf& box_of) {
  const ImageLayout image(in, dims);
  const int64_t channel = out.dim() - dims - 1;
  for_each_index(context, out, work, [&](const int64_t* index, int64_t offset) {
    const T* plane = in.const_data_ptr<T>() + (channel > 0 ? index[0] * image.batch_stride : 0) +
                     index[channel] * image.channel_stride;
    int64_t begin[3] = {0, 0, 0}, end[3] = {1, 1, 1};
    box_of(index + channel + 1, begin, end);
    T best = lowest<T>();
    int64_t where = (begin[0] * image.size[1] + begin[1]) * image.size[2] + begin[2];
    for (int64_t z = begin[0]; z < end[0]; z += step[0]) {
      for (int64_t y = begin[1]; y < end[1]; y += step[1]) {
        for (int64_t x = begin[2]; x < end[2]; x += step[2]) {
          const T value = plane[z * image.stride[0] + y * image.stride[1] + x * image.stride[2]];
          if (value > best || value != value) {
            best = value;
            where = (z * image.size[1] + y) * image.size[2] + x;
          }
        }
      }
    }
    out.mutable_data_ptr<T>()[offset] = best;
    int64_t at = 0;
    for (int64_t i = 0; i < indices.dim(); ++i) at += index[i] * indices.stride(i);
    indices.mutable_data_ptr<int64_t>()[at] = where;
  });
}

bool require_long(KernelRuntimeContext& context, const Tensor& indices) {
  if (indices.scalar_type() == ScalarType::Long) return true;
  context.fail(Error::InvalidArgument, "indices are %s, not int64", dtype_name(indices.scalar_type()));
  return false;
}

}  // namespace

void max_pool(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices) {
  Shape shape;
  if (!pooled_shape(context, pooling, in, &shape) || !require_same_dtype(context, in, out)) return;
  if (!require_long(context, indices)) return;
  if (!resize_out(context, out, shape.span()) || !resize_out(context, indices, shape.span())) return;
  const ImageLayout image(in, pooling.dims);
  const Window3d& w = pooling.window;
  const int64_t missing = 3 - pooling.dims;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    maximum_of_boxes<T>(context, in, pooling.dims, w.dilation, w.taps(), out, indices,
                        [&](const int64_t* position, int64_t* begin, int64_t* end) {
                          for (int64_t i = missing; i < 3; ++i) {
                            begin[i] = position[i - missing] * w.stride[i] - w.padding[i];
                            end[i] = std::min(begin[i] + (w.kernel[i] - 1) * w.dilation[i] + 1, image.size[i]);
                            while (begin[i] < 0) begin[i] += w.dilation[i];
                          }
                        });
  });
}

void adaptive_max_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size, Tensor& out,
                       Tensor& indices) {
  Shape shape;
  if (!adaptive_shape(context, in, output_size, &shape) || !require_same_dtype(context, in, out)) return;
  if (!require_long(context, indices)) return;
  if (!resize_out(context, out, shape.span()) || !resize_out(context, indices, shape.span())) return;
  const int64_t dims = static_cast<int64_t>(output_size.size()), missing = 3 - dims;
  const ImageLayout image(in, dims);
  const int64_t step[3] = {1, 1, 1};
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    maximum_of_boxes<T>(context, in, dims, step, 16, out, indices,
                        [&](const int64_t* position, int64_t* begin, int64_t* end) {
                          for (int64_t i = missing; i < 3; ++i) {
                            const int64_t count = output_size[static_cast<size_t>(i - missing)];
                            adaptive_range(position[i - missing], image.size[i], count, begin + i, end + i);
                          }
                        });
  });
}

}  // namespace rushlight
