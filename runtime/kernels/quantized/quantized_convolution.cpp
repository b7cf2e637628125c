#include "kernels/quantized/affine_loop.h"
#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/convolution.h"
#include "kernels/shared/index_loop.h"

namespace rushlight::quantized {

namespace {

// Returns the input position that a tap of the window reads for an output position, or a negative number if there is
// none.
int64_t source_of(const Convolution& c, int axis, int64_t position, int64_t tap, int64_t size) {
  const Window3d& w = c.window;
  int64_t source = position * w.stride[axis] - w.padding[axis] + tap * w.dilation[axis];
  if (c.transposed) {
    source = position + w.padding[axis] - tap * w.dilation[axis];
    if (source < 0 || source % w.stride[axis] != 0) return -1;
    source /= w.stride[axis];
  }
  return source < size ? source : -1;
}

// The sums of products of the windows of a group.
struct WindowSums {
  const Convolution& c;
  const ImageLayout image, taps;
  const ByteReader read;
  const int32_t zero;
  const int64_t channels;     // inputs of a group
  const int64_t filter_step;  // from the weight of a channel to that of the next one

  WindowSums(const Convolution& convolution, const Tensor& in, int64_t in_zero, const Tensor& weight)
      : c(convolution),
        image(in, c.dims),
        taps(weight, c.dims),
        read(in),
        zero(static_cast<int32_t>(in_zero)),
        channels(image.channels / c.groups),
        filter_step(c.transposed ? taps.batch_stride : taps.channel_stride) {}

  // Returns the sum for an output position. `from` and `filter` point to the first channel and to the first weight.
  int32_t at(const int64_t (&position)[3], const uint8_t* from, const int8_t* filter) const {
    uint32_t sum = 0;  // very long sums wrap around
    for (int64_t z = 0; z < c.window.kernel[0]; ++z) {
      const int64_t in_z = source_of(c, 0, position[0], z, image.size[0]);
      if (in_z < 0) continue;
      for (int64_t y = 0; y < c.window.kernel[1]; ++y) {
        const int64_t in_y = source_of(c, 1, position[1], y, image.size[1]);
        if (in_y < 0) continue;
        for (int64_t x = 0; x < c.window.kernel[2]; ++x) {
          const int64_t in_x = source_of(c, 2, position[2], x, image.size[2]);
          if (in_x < 0) continue;
          sum += pixel_sum(from + in_z * image.stride[0] + in_y * image.stride[1] + in_x * image.stride[2],
                           filter + z * taps.stride[0] + y * taps.stride[1] + x * taps.stride[2]);
        }
      }
    }
    return static_cast<int32_t>(sum);
  }

  uint32_t pixel_sum(const uint8_t* pixel, const int8_t* weights) const {
    uint32_t sum = 0;
    for (int64_t k = 0; k < channels; ++k) {
      sum += static_cast<uint32_t>((read(pixel[k * image.channel_stride]) - zero) * weights[k * filter_step]);
    }
    return sum;
  }
};

// Computes with the loops for Cortex-M. Returns false if they do not support the arguments.
[[maybe_unused]] bool convolve_on_cortex_m(KernelRuntimeContext& context, const Convolution& c, const Tensor& in,
                                           int64_t in_zero, const Tensor& weight, const cortex_m::Int8Scales& scales,
                                           const cortex_m::Int8Output& output, const Tensor& out) {
  cortex_m::Int8Convolution fast;
  if (c.dims > 2 || c.transposed || out.numel() == 0 || in.numel() == 0 || !cortex_m_zero(in, in_zero, &fast.zero) ||
      !cortex_m_window(c.window, &fast.window)) {
    return false;
  }
  fast.output = output;
  cortex_m::ImageShape taps;
  cortex_m_shape(in, c.dims, &fast.in), cortex_m_shape(out, c.dims, &fast.out), cortex_m_shape(weight, c.dims, &taps);
  fast.groups = static_cast<int32_t>(c.groups);
  fast.sign_mask = cortex_m_sign_mask(in);
  if (taps.batch_stride != fast.depth()) return false;
  fast.weight_channel_stride = taps.channel_stride;
  fast.weight_row_stride = taps.row_stride;
  fast.weight_column_stride = taps.column_stride;
  fast.scales = scales;
  return cortex_m::convolve(fast, in.const_data_ptr<uint8_t>(), weight.const_data_ptr<int8_t>(),
                            out.mutable_data_ptr<uint8_t>(), cortex_m_scratch(context));
}

}  // namespace

void quantized_convolution_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                               const Tensor& weight, const Tensor& weight_scales, const std::optional<Tensor>& bias,
                               Span<const int64_t> stride, Span<const int64_t> padding, Span<const int64_t> dilation,
                               bool transposed, Span<const int64_t> output_padding, int64_t groups, double scale,
                               int64_t zero, int64_t quant_min, int64_t quant_max, Tensor& out) {
  Convolution c;
  if (!require_input(context, in, in_zero)) return;
  RL_KERNEL_REQUIRE(context, weight.scalar_type() == ScalarType::Char, InvalidType, "the weight is %s, not int8",
                    dtype_name(weight.scalar_type()));
  if (!require_output(context, out, quant_min, quant_max) ||
      !read_convolution(context, in, weight, stride, padding, dilation, transposed, output_padding, groups, &c)) {
    return;
  }
  const Shape shape = convolved_shape(c, in, weight);
  const int64_t outputs = shape.sizes[shape.dim - c.dims - 1];
  RL_KERNEL_REQUIRE(
      context, (weight_scales.numel() == outputs || weight_scales.numel() == 1) && (!bias || bias->numel() == outputs),
      InvalidArgument, "the scales or the bias do not have one element per output channel");
  if (!resize_out(context, out, shape.span())) return;
  const float* const scales = elements_as_float(context, weight_scales);
  const float* const offsets = bias ? elements_as_float(context, *bias) : nullptr;
  if (context.failed()) return;
  const cortex_m::Int8Scales parameters{static_cast<float>(in_scale), scales, weight_scales.numel() == 1 ? 0 : 1,
                                        offsets};
  if constexpr (cortex_m::kHasInt8) {
    cortex_m::Int8Output output;
    if (set_output(scale, zero, quant_min, quant_max, &output) &&
        convolve_on_cortex_m(context, c, in, in_zero, weight, parameters, output, out)) {
      return;
    }
  }

  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const WindowSums sums(c, in, in_zero, weight);
  const ImageLayout& image = sums.image;
  const int64_t out_group = outputs / c.groups, channel = out.dim() - c.dims - 1;
  for_each_index(context, out, sums.channels * c.window.taps(), [&](const int64_t* index, int64_t at) {
    const int64_t output = index[channel], group = output / out_group, first = group * sums.channels;
    const uint8_t* const from =
        in.const_data_ptr<uint8_t>() + (channel > 0 ? index[0] * image.batch_stride : 0) + first * image.channel_stride;
    // The weights are [outputs, channels of a group] or, transposed, [channels, outputs of a group].
    const int64_t filter = transposed ? first * sums.taps.batch_stride + output % out_group * sums.taps.channel_stride
                                      : output * sums.taps.batch_stride;
    int64_t position[3] = {0, 0, 0};
    for (int64_t i = 0; i < c.dims; ++i) position[3 - c.dims + i] = index[channel + 1 + i];
    const int32_t sum = sums.at(position, from, weight.const_data_ptr<int8_t>() + filter);
    const float real = static_cast<float>(sum) * parameters.factor(output);
    out.mutable_data_ptr<uint8_t>()[at] = requantize(offsets ? real + offsets[output] : real);
  });
}

}  // namespace rushlight::quantized
