#include "kernels/shared/convolution.h"

#include "kernels/portable/nn.h"
#include "kernels/shared/axes.h"

namespace rushlight::portable {

void convolution_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                     const std::optional<Tensor>& bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed, Span<const int64_t> output_padding, int64_t groups,
                     Tensor& out) {
  Convolution convolution;
  if (!read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups,
                        &convolution)) {
    return;
  }
  if (!require_same_dtype(context, in, weight) || !require_same_dtype(context, in, out)) return;
  if (bias && !require_same_dtype(context, in, *bias)) return;
  const Shape shape = convolved_shape(convolution, in, weight);
  RL_KERNEL_REQUIRE(context,
                    !bias || (bias->dim() == 1 && bias->size(0) == shape.sizes[shape.dim - convolution.dims - 1]),
                    InvalidArgument, "the bias does not have one element per output channel");
  if (!resize_out(context, out, shape.span())) return;
  convolve(context, convolution, in, weight, bias, out);
}

}  // namespace rushlight::portable
