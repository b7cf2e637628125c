#include "kernels/shared/convolution.h"

#include "kernels/optimized/conv2d.h"
#include "kernels/optimized/layout.h"
#include "kernels/optimized/nn.h"
#include "kernels/shared/row_major.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::optimized {

namespace {

// Returns the weights of images in the order [outputs, height, width, channels]: in place, or as a copy in scratch
// memory. If there is no memory, records the failure and returns null.
const float* channels_last_weights(KernelRuntimeContext& context, const Tensor& weight) {
  if (is_channels_last(weight)) return weight.const_data_ptr<float>();
  float* copy = context.allocate_temporary_array<float>(static_cast<size_t>(weight.numel()));
  if (copy == nullptr) return nullptr;
  StridedLoops loops;
  int64_t stride = weight.numel();
  for (const int64_t axis : {0, 2, 3, 1}) {
    stride /= weight.size(axis);
    loops.add(weight.size(axis), weight.stride(axis), stride);
  }
  strided_copy(context, loops, weight.const_data_ptr(), copy, sizeof(float));
  return copy;
}

Conv2d conv2d_of(const Convolution& convolution, const Tensor& in, const Tensor& out,
                 const std::optional<Tensor>& bias) {
  const ImageLayout image(in, convolution.dims), result(out, convolution.dims);
  Conv2d conv{};
  const Window3d& w = convolution.window;
  static_cast<Window&>(conv) = planar(w);
  conv.kernel_d = w.kernel[0], conv.stride_d = w.stride[0], conv.pad_d = w.padding[0], conv.dilation_d = w.dilation[0];
  conv.batch = image.batch, conv.channels = image.channels;
  conv.depth = image.size[0], conv.height = image.size[1], conv.width = image.size[2];
  conv.outputs = result.channels;
  conv.out_depth = result.size[0], conv.out_height = result.size[1], conv.out_width = result.size[2];
  conv.groups = convolution.groups;
  conv.bias = bias ? bias->const_data_ptr<float>() : nullptr;
  return conv;
}

}  // namespace

bool convolution_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                     const std::optional<Tensor>& bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed, Span<const int64_t> output_padding, int64_t groups,
                     Tensor& out) {
  if (!all_float(in, weight, out) || (bias && !is_float(*bias))) return false;
  Convolution convolution;
  if (!read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups,
                        &convolution)) {
    return true;
  }
  const Shape shape = convolved_shape(convolution, in, weight);
  const int64_t outputs = shape.sizes[shape.dim - convolution.dims - 1];
  if (bias && (bias->dim() != 1 || bias->size(0) != outputs)) return false;
  if (!resize_out(context, out, shape.span())) return true;
  if (out.numel() == 0) return true;
  Conv2d conv = conv2d_of(convolution, in, out, bias);
  if (!transposed && is_channels_last(in) && is_channels_last(out) && !(is_row_major(in) && is_row_major(out))) {
    conv.input = in.const_data_ptr<float>();
    conv.weight = channels_last_weights(context, weight);
    conv.out = out.mutable_data_ptr<float>();
    if (conv.weight != nullptr) conv2d_channels_last(context, conv);
    return true;
  }
  const RowMajorInput images(context, in), weights(context, weight);
  RowMajorOutput result(context, out);
  if (context.failed()) return true;
  conv.input = images.data<float>();
  conv.weight = weights.data<float>();
  conv.out = result.data<float>();
  if (transposed ? conv_transpose2d(context, conv) : conv2d(context, conv)) result.finish();
  return true;
}

}  // namespace rushlight::optimized
