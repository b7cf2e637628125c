// Computes single results of convolutions, matrix products and bilinear resizing for inputs with NaN or infinities.
#include "backends/xnnpack/exact_result.h"

#include <algorithm>

#include "backends/xnnpack/convert.h"

namespace rushlight::xnnpack {
namespace {

float element(const Operand& operand, int64_t index) {
  float value = 0;
  const auto* bytes = static_cast<const uint8_t*>(operand.data);
  to_float(operand.dtype, bytes + static_cast<size_t>(index) * element_size(operand.dtype), 1, &value);
  return value;
}

float bias_of(const Node& node, const Operand* inputs, int64_t channel) {
  return node.inputs[2] == kNone ? 0.0f : element(inputs[2], channel);
}

float product(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index) {
  const bool is_transposed = (node.flags & kTransposeWeights) != 0;
  const int64_t outputs = out.last(), depth = inputs[0].shape.last();
  const int64_t row = index / outputs, column = index % outputs;
  float sum = bias_of(node, inputs, column);
  for (int64_t i = 0; i < depth; ++i) {
    sum += floats[row * depth + i] * element(inputs[1], is_transposed ? i * outputs + column : column * depth + i);
  }
  return sum;
}

// Returns the input position that a tap of the window reads for a result position, or -1 if the tap is in the padding.
int64_t source_of(int64_t position, int64_t tap, int64_t stride, int64_t dilation, int64_t padding, int64_t size,
                  bool is_transposed) {
  int64_t source = 0;
  if (is_transposed) {
    const int64_t strided = position + padding - tap * dilation;
    if (strided < 0 || strided % stride != 0) return -1;
    source = strided / stride;
  } else {
    source = position * stride + tap * dilation - padding;
  }
  return source >= 0 && source < size ? source : -1;
}

float convolution(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index) {
  const PayloadWindow& w = node.window;
  const Shape& in = inputs[0].shape;
  const bool is_transposed = node.kind == Kind::XNNConvTranspose2d;
  const int64_t channels = out.dims[3], channel = index % channels;
  const int64_t x = index / channels % out.dims[2], y = index / channels / out.dims[2] % out.dims[1];
  const int64_t batch = index / channels / out.dims[2] / out.dims[1];
  const int64_t first = channel / w.group_outputs * w.group_inputs;
  float sum = bias_of(node, inputs, channel);
  for (int64_t ky = 0; ky < w.height; ++ky) {
    const int64_t row = source_of(y, ky, w.stride_height, w.dilation_height, w.top, in.dims[1], is_transposed);
    for (int64_t kx = 0; row >= 0 && kx < w.width; ++kx) {
      const int64_t column = source_of(x, kx, w.stride_width, w.dilation_width, w.left, in.dims[2], is_transposed);
      if (column < 0) continue;
      const float* pixel = floats + ((batch * in.dims[1] + row) * in.dims[2] + column) * in.dims[3] + first;
      const int64_t tap = ky * w.width + kx;
      for (int64_t i = 0; i < w.group_inputs; ++i) {
        const int64_t at = node.kind == Kind::XNNDepthwiseConv2d
                               ? tap * channels + channel
                               : (channel * w.height * w.width + tap) * w.group_inputs + i;
        sum += pixel[i] * element(inputs[1], at);
      }
    }
  }
  return sum;
}

// Two neighbouring positions, and the weight of the second one.
struct Neighbours {
  int64_t first, second;
  float weight;

  Neighbours(int64_t position, int64_t from, int64_t to, bool aligns_corners) {
    float source = 0;
    if (aligns_corners) {
      const float step = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0f;
      source = static_cast<float>(position) * step;
    } else {
      const float step = static_cast<float>(from) / static_cast<float>(to);
      source = std::max((static_cast<float>(position) + 0.5f) * step - 0.5f, 0.0f);
    }
    first = std::min(static_cast<int64_t>(source), from - 1);
    second = std::min(first + 1, from - 1);
    weight = std::min(std::max(source - static_cast<float>(first), 0.0f), 1.0f);
  }
};

float resized(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index) {
  const Shape& in = inputs[0].shape;
  const bool aligns_corners = (node.flags & kAlignCorners) != 0;
  const int64_t channels = out.dims[3], channel = index % channels;
  const Neighbours x(index / channels % out.dims[2], in.dims[2], out.dims[2], aligns_corners);
  const Neighbours y(index / channels / out.dims[2] % out.dims[1], in.dims[1], out.dims[1], aligns_corners);
  const float* image = floats + index / channels / out.dims[2] / out.dims[1] * in.dims[1] * in.dims[2] * channels;
  const auto row = [&](int64_t at) {
    const float* pixels = image + at * in.dims[2] * channels + channel;
    return pixels[x.first * channels] * (1 - x.weight) + pixels[x.second * channels] * x.weight;
  };
  return row(y.first) * (1 - y.weight) + row(y.second) * y.weight;
}

}  // namespace

bool loses_special_values(Kind kind) {
  return kind == Kind::XNNConv2d || kind == Kind::XNNDepthwiseConv2d || kind == Kind::XNNConvTranspose2d ||
         kind == Kind::XNNFullyConnected || kind == Kind::XNNStaticResizeBilinear2D;
}

float exact_result(const Node& node, const Operand* inputs, const float* floats, const Shape& out, int64_t index) {
  if (node.kind == Kind::XNNFullyConnected) return product(node, inputs, floats, out, index);
  if (node.kind == Kind::XNNStaticResizeBilinear2D) return resized(node, inputs, floats, out, index);
  return convolution(node, inputs, floats, out, index);
}

}  // namespace rushlight::xnnpack
