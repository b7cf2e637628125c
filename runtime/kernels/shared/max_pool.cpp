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

}  // namespace

void max_pool(KernelRuntimeContext& context, const Pooling& pooling, const Tensor& in, Tensor& out, Tensor& indices) {
  Shape shape;
  if (!pooled_shape(context, pooling, in, &shape) || !require_same_dtype(context, in, out)) return;
  RL_KERNEL_REQUIRE(context, indices.scalar_type() == ScalarType::Long, InvalidArgument, "indices are %s, not int64",
                    dtype_name(indices.scalar_type()));
  if (!resize_out(context, out, shape.span()) || !resize_out(context, indices, shape.span())) return;
  const Image image(in, pooling.dims);
  const Window& w = pooling.window;
  const int64_t channel = out.dim() - pooling.dims - 1;
  const int64_t missing = 3 - pooling.dims;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index(context, out, w.volume(), [&](const int64_t* index, int64_t offset) {
      const T* plane = in.const_data_ptr<T>() + (channel > 0 ? index[0] * image.batch_stride : 0) +
                       index[channel] * image.channel_stride;
      int64_t begin[3], end[3];
      for (int i = 0; i < 3; ++i) {
        const int64_t position = i < missing ? 0 : index[channel + 1 + i - missing];
        begin[i] = position * w.stride[i] - w.padding[i];
        end[i] = std::min(begin[i] + (w.kernel[i] - 1) * w.dilation[i] + 1, image.size[i]);
        if (begin[i] < 0) begin[i] += (-begin[i] + w.dilation[i] - 1) / w.dilation[i] * w.dilation[i];
      }
      T best = lowest<T>();
      int64_t where = (begin[0] * image.size[1] + begin[1]) * image.size[2] + begin[2];
      for (int64_t z = begin[0]; z < end[0]; z += w.dilation[0]) {
        for (int64_t y = begin[1]; y < end[1]; y += w.dilation[1]) {
          for (int64_t x = begin[2]; x < end[2]; x += w.dilation[2]) {
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
  });
}

}  // namespace rushlight
