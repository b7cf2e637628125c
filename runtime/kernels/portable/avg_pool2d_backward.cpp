#include <algorithm>

#include "kernels/portable/nn.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/pooling.h"

namespace rushlight::portable {

void avg_pool2d_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                             Span<const int64_t> kernel, Span<const int64_t> stride, Span<const int64_t> padding,
                             bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor,
                             Tensor& grad_input) {
  Pooling pooling;
  Shape shape;
  if (!read_pooling(context, in, 2, kernel, stride, padding, {}, ceil_mode, &pooling)) return;
  RL_KERNEL_REQUIRE(context, !divisor || *divisor != 0, InvalidArgument, "the divisor is 0");
  if (!pooled_shape(context, pooling, in, &shape) || !require_shape(context, "grad_output", grad_output, shape)) return;
  if (!require_same_dtype(context, in, grad_output) || !require_same_dtype(context, in, grad_input)) return;
  if (!resize_out(context, grad_input, in.sizes())) return;
  fill_tensor(context, grad_input, 0);
  const ImageLayout source(grad_output, 2), target(grad_input, 2);
  const Window3d& w = pooling.window;
  switch_dtype<dtypes::kRealH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Number = std::conditional_t<std::is_integral_v<T>, int64_t, AccumulatorOf<T>>;
    for (int64_t plane = 0; plane < source.batch * source.channels; ++plane) {
      const int64_t n = plane / source.channels, c = plane % source.channels;
      const T* from = grad_output.const_data_ptr<T>() + n * source.batch_stride + c * source.channel_stride;
      T* to = grad_input.mutable_data_ptr<T>() + n * target.batch_stride + c * target.channel_stride;
      for (int64_t i = 0; i < source.volume(); ++i) {
        const int64_t position[3] = {0, i / source.size[2], i % source.size[2]};
        int64_t begin[3], end[3], padded = 1, covered = 1;
        for (int axis = 1; axis < 3; ++axis) {
          begin[axis] = position[axis] * w.stride[axis] - w.padding[axis];
          end[axis] = std::min(begin[axis] + w.kernel[axis], target.size[axis] + w.padding[axis]);
          padded *= end[axis] - begin[axis];
          begin[axis] = std::max<int64_t>(begin[axis], 0);
          end[axis] = std::min(end[axis], target.size[axis]);
          covered *= std::max<int64_t>(0, end[axis] - begin[axis]);
        }
        if (covered == 0) continue;
        const int64_t count = divisor ? *divisor : count_include_pad ? padded : covered;
        const T gradient =
            static_cast<T>(static_cast<Number>(from[position[1] * source.stride[1] + position[2] * source.stride[2]]) /
                           static_cast<Number>(count));
        for (int64_t y = begin[1]; y < end[1]; ++y) {
          for (int64_t x = begin[2]; x < end[2]; ++x) {
            T& sum = to[y * target.stride[1] + x * target.stride[2]];
            sum = add_elements(sum, gradient);
          }
        }
      }
    }
  });
}

}  // namespace rushlight::portable
