#include "kernels/portable/nn.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void max_pool2d_with_indices_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                                          Span<const int64_t> kernel, Span<const int64_t> stride,
                                          Span<const int64_t> padding, Span<const int64_t> dilation, bool ceil_mode,
                                          const Tensor& indices, Tensor& grad_input) {
  Pooling pooling;
  Shape shape;
  if (!read_pooling(context, in, 2, kernel, stride, padding, dilation, ceil_mode, &pooling)) return;
  if (!pooled_shape(context, pooling, in, &shape) || !require_shape(context, "grad_output", grad_output, shape) ||
      !require_shape(context, "indices", indices, shape)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, indices.scalar_type() == ScalarType::Long, InvalidArgument, "indices are %s, not int64",
                    dtype_name(indices.scalar_type()));
  if (!require_same_dtype(context, in, grad_output) || !require_same_dtype(context, in, grad_input)) return;
  if (!resize_out(context, grad_input, in.sizes())) return;
  fill_tensor(context, grad_input, 0);
  const ImageLayout source(grad_output, 2), positions(indices, 2), target(grad_input, 2);
  bool inside = true;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t plane = 0; plane < source.batch * source.channels; ++plane) {
      const int64_t n = plane / source.channels, c = plane % source.channels;
      const T* from = grad_output.const_data_ptr<T>() + n * source.batch_stride + c * source.channel_stride;
      const int64_t* position =
          indices.const_data_ptr<int64_t>() + n * positions.batch_stride + c * positions.channel_stride;
      T* to = grad_input.mutable_data_ptr<T>() + n * target.batch_stride + c * target.channel_stride;
      for (int64_t y = 0; y < source.size[1]; ++y) {
        for (int64_t x = 0; x < source.size[2]; ++x) {
          const int64_t at = position[y * positions.stride[1] + x * positions.stride[2]];
          inside = inside && at >= 0 && at < target.volume();
          if (!inside) return;
          T& sum = to[at / target.size[2] * target.stride[1] + at % target.size[2] * target.stride[2]];
          sum = add_elements(sum, from[y * source.stride[1] + x * source.stride[2]]);
        }
      }
    }
  });
  RL_KERNEL_REQUIRE(context, inside, InvalidArgument, "an index is outside of the image");
}

}  // namespace rushlight::portable
