#include "kernels/portable/nn.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/window.h"

namespace rushlight::portable {

namespace {

// Adds the gradient of each pooled pixel of a plane, divided by the number of pixels that it was computed from, to the
// gradients of these pixels.
template <typename T>
void add_plane(const ImageLayout& source, const T* from, const ImageLayout& target, T* to) {
  using Number = AccumulatorOf<T>;
  for (int64_t i = 0; i < source.volume(); ++i) {
    const int64_t position[3] = {0, i / source.size[2], i % source.size[2]};
    int64_t begin[3], end[3];
    for (int axis = 1; axis < 3; ++axis) {
      begin[axis] = position[axis] * target.size[axis] / source.size[axis];
      end[axis] = ((position[axis] + 1) * target.size[axis] + source.size[axis] - 1) / source.size[axis];
    }
    const int64_t count = (end[1] - begin[1]) * (end[2] - begin[2]);
    if (count == 0) continue;
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

}  // namespace

void adaptive_avg_pool2d_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                                      Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context,
                    (rank == 3 || rank == 4) && grad_output.dim() == rank &&
                        grad_output.size(rank - 3) == in.size(rank - 3) && grad_output.size(0) == in.size(0),
                    InvalidArgument, "the shape of grad_output does not match the image");
  if (!require_same_dtype(context, in, grad_output) || !require_same_dtype(context, in, out)) return;
  if (!resize_out(context, out, in.sizes())) return;
  fill_tensor(context, out, 0);
  const ImageLayout source(grad_output, 2), target(out, 2);
  switch_dtype<dtypes::kFloatH>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t plane = 0; plane < source.batch * source.channels; ++plane) {
      const int64_t n = plane / source.channels, c = plane % source.channels;
      add_plane(source, grad_output.const_data_ptr<T>() + n * source.batch_stride + c * source.channel_stride, target,
                out.mutable_data_ptr<T>() + n * target.batch_stride + c * target.channel_stride);
    }
  });
}

}  // namespace rushlight::portable
