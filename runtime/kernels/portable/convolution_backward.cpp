#include "kernels/portable/nn.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convolution.h"
#include "kernels/shared/dtype_switch.h"

namespace rushlight::portable {
namespace {

// Computes sums over all dims except the channels.
void bias_gradient(KernelRuntimeContext& context, const Convolution& convolution, const Tensor& grad_output,
                   const Tensor& out) {
  const ImageLayout image(grad_output, convolution.dims);
  switch_dtype<dtypes::kFloatH>(context, grad_output.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t channel = 0; channel < image.channels; ++channel) {
      AccumulatorOf<T> sum = 0;
      for (int64_t n = 0; n < image.batch; ++n) {
        for (int64_t i = 0; i < image.volume(); ++i) {
          const int64_t x = i % image.size[2], y = i / image.size[2] % image.size[1];
          const int64_t z = i / image.size[2] / image.size[1];
          sum += grad_output.const_data_ptr<T>()[n * image.batch_stride + channel * image.channel_stride +
                                                 z * image.stride[0] + y * image.stride[1] + x * image.stride[2]];
        }
      }
      out.mutable_data_ptr<T>()[channel] = static_cast<T>(sum);
    }
  });
}

}  // namespace

void convolution_backward_out(KernelRuntimeContext& context, const Tensor& grad_output, const Tensor& in,
                              const Tensor& weight, const std::optional<Span<const int64_t>>& bias_sizes,
                              Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                              bool transposed, Span<const int64_t> output_padding, int64_t groups,
                              Span<const bool> output_mask, Tensor& grad_input, Tensor& grad_weight,
                              Tensor& grad_bias) {
  (void)bias_sizes;
  Convolution convolution;
  if (!read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups,
                        &convolution)) {
    return;
  }
  RL_KERNEL_REQUIRE(context, output_mask.size() == 3, InvalidArgument, "output_mask has %zu items, not 3",
                    output_mask.size());
  if (!require_same_dtype(context, in, weight) || !require_same_dtype(context, in, grad_output)) return;
  const Shape shape = convolved_shape(convolution, in, weight);
  if (!require_shape(context, "grad_output", grad_output, shape)) return;
  if (output_mask[0]) {
    if (!require_same_dtype(context, in, grad_input) || !resize_out(context, grad_input, in.sizes())) return;
    Convolution adjoint = convolution;
    adjoint.transposed = !transposed;
    convolve(context, adjoint, grad_output, weight, std::nullopt, grad_input);
  }
  if (output_mask[1]) {
    if (!require_same_dtype(context, in, grad_weight) || !resize_out(context, grad_weight, weight.sizes())) return;
    convolve_weight_gradient(context, convolution, transposed ? in : grad_output, transposed ? grad_output : in,
                             grad_weight);
  }
  if (output_mask[2]) {
    if (!require_same_dtype(context, in, grad_bias)) return;
    if (!resize_out(context, grad_bias, {shape.sizes[shape.dim - convolution.dims - 1]})) return;
    bias_gradient(context, convolution, grad_output, grad_bias);
  }
}

}  // namespace rushlight::portable
