#include <algorithm>

#include "kernels/quantized/bytes.h"
#include "kernels/quantized/operators.h"
#include "kernels/shared/index_loop.h"
#include "kernels/shared/pooling.h"

namespace rushlight::quantized {

void quantized_avg_pool2d_out(KernelRuntimeContext& context, const Tensor& in, double in_scale, int64_t in_zero,
                              Span<const int64_t> kernel, Span<const int64_t> stride, Span<const int64_t> padding,
                              bool ceil_mode, bool count_include_pad, double scale, int64_t zero, int64_t quant_min,
                              int64_t quant_max, Tensor& out) {
  Pooling pooling;
  Shape shape;
  if (!require_input(context, in, in_zero) || !require_output(context, out, quant_min, quant_max) ||
      !read_pooling(context, in, 2, kernel, stride, padding, {}, ceil_mode, &pooling) ||
      !pooled_shape(context, pooling, in, &shape) || !resize_out(context, out, shape.span())) {
    return;
  }
  const Window3d& w = pooling.window;
  const float factor = static_cast<float>(in_scale);
  if constexpr (cortex_m::kHasInt8) {
    cortex_m::Int8Means means;
    if (cortex_m_window(w, &means.window) && cortex_m_zero(in, in_zero, &means.zero) && cortex_m::is_usual(factor) &&
        w.taps() < 1 << 16 && set_output(scale, zero, quant_min, quant_max, &means.output)) {
      cortex_m_shape(in, 2, &means.in), cortex_m_shape(out, 2, &means.out);
      means.counts_padding = count_include_pad;
      means.sign_mask = cortex_m_sign_mask(in);
      means.factor = factor;
      return cortex_m::average_pool(means, in.const_data_ptr<uint8_t>(), out.mutable_data_ptr<uint8_t>());
    }
  }
  const ImageLayout image(in, 2);
  const ByteReader read(in);
  const Requantizer requantize(scale, zero, quant_min, quant_max);
  const int64_t channel = out.dim() - 3;
  for_each_index(context, out, w.taps(), [&](const int64_t* index, int64_t offset) {
    const int64_t top = index[channel + 1] * w.stride[1] - w.padding[1];
    const int64_t left = index[channel + 2] * w.stride[2] - w.padding[2];
    const int64_t bottom = std::min(top + w.kernel[1], image.size[1] + w.padding[1]);
    const int64_t right = std::min(left + w.kernel[2], image.size[2] + w.padding[2]);
    const int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(bottom, image.size[1]);
    const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(right, image.size[2]);
    const uint8_t* plane = in.const_data_ptr<uint8_t>() + (channel > 0 ? index[0] * image.batch_stride : 0) +
                           index[channel] * image.channel_stride;
    int64_t sum = 0;
    for (int64_t y = y0; y < y1; ++y) {
      for (int64_t x = x0; x < x1; ++x) sum += read(plane[y * image.stride[1] + x * image.stride[2]]);
    }
    const int64_t covered = std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0);
    const int64_t divisor = count_include_pad ? (bottom - top) * (right - left) : covered;
    const float real = static_cast<float>(sum - in_zero * covered) * factor;
    out.mutable_data_ptr<uint8_t>()[offset] = requantize(covered == 0 ? 0.0f : real / static_cast<float>(divisor));
  });
}

}  // namespace rushlight::quantized
