#include "kernels/shared/convolution.h"

#include "kernels/optimized/conv2d.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/nn.h"

namespace rushlight::optimized {

bool convolution_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                     const std::optional<Tensor>& bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed, Span<const int64_t> output_padding, int64_t groups,
                     Tensor& out) {
  if (transposed || weight.dim() > 4 || !is_plain(in) || !is_plain(weight) || !is_float(out)) return false;
  if (bias && !is_float(*bias)) return false;
  Convolution convolution;
  if (!read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups,
                        &convolution)) {
    return true;
  }
  const Shape shape = convolved_shape(convolution, in, weight);
  const int64_t outputs = shape.sizes[shape.dim - convolution.dims - 1];
  if (bias && (bias->dim() != 1 || bias->size(0) != outputs)) return false;
  if (!resize_out(context, out, shape.span())) return true;
  if (!is_row_major(out)) return false;
  const Image image(in, convolution.dims), result(out, convolution.dims);
  const Window& window = convolution.window;
  return conv2d(context, {image.batch,
                          image.channels,
                          image.size[1],
                          image.size[2],
                          outputs,
                          result.size[1],
                          result.size[2],
                          window.kernel[1],
                          window.kernel[2],
                          window.stride[1],
                          window.stride[2],
                          window.padding[1],
                          window.padding[2],
                          window.dilation[1],
                          window.dilation[2],
                          groups,
                          in.const_data_ptr<float>(),
                          weight.const_data_ptr<float>(),
                          bias ? bias->const_data_ptr<float>() : nullptr,
                          out.mutable_data_ptr<float>()}) ||
         context.failed();
}

}  // namespace rushlight::optimized
