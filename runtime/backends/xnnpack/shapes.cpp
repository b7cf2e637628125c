#include "backends/xnnpack/shapes.h"

#include <cmath>

namespace rushlight::xnnpack {
namespace {

Error mismatch(const Node& node, const char* what) {
  return fail(Error::InvalidProgram, "the shapes of a %s (debug handle %u) do not match: %s", name_of(node.kind),
              node.debug_handle, what);
}

Error broadcast(const Node& node, const Shape& a, const Shape& b, Shape* out) {
  out->rank = a.rank > b.rank ? a.rank : b.rank;
  for (uint32_t i = 1; i <= out->rank; ++i) {
    const int64_t x = i <= a.rank ? a.dims[a.rank - i] : 1;
    const int64_t y = i <= b.rank ? b.dims[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1) return mismatch(node, "the inputs cannot be broadcast");
    out->dims[out->rank - i] = x == 1 ? y : x;
  }
  return Error::Ok;
}

// Returns the number of positions of a window with `size` taps over `length` elements, or 0 if the window is longer
// than the padded input.
int64_t positions(int64_t length, int64_t padding, int64_t size, int64_t dilation, int64_t stride) {
  const int64_t free = length + padding - ((size - 1) * dilation + 1);
  return free < 0 ? 0 : free / stride + 1;
}

int64_t transposed_positions(int64_t length, int64_t padding, int64_t size, int64_t dilation, int64_t stride,
                             int64_t adjustment) {
  return stride * (length - 1) + adjustment + (size - 1) * dilation + 1 - padding;
}

Error convolution(const Graph& graph, const Node& node, const Shape* shapes, Shape* out) {
  const Shape& in = shapes[node.inputs[0]];
  const PayloadWindow& w = node.window;
  const Shape& filter = shapes[node.inputs[1]];
  const int64_t channels = int64_t{w.groups} * w.group_outputs;
  if (in.rank != 4 || filter.rank != 4)
    return mismatch(node, "the input and the filter of a convolution must have four dimensions");
  if (int64_t{w.groups} * w.group_inputs != in.dims[3])
    return mismatch(node, "the channels of the input differ from the window's");
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;
  if (is_depthwise && w.group_inputs != 1)
    return mismatch(node, "each group of a depthwise convolution must have one input channel");
  const Shape expected{
      4, {is_depthwise ? 1 : channels, w.height, w.width, is_depthwise ? channels : int64_t{w.group_inputs}}};
  if (filter != expected) return mismatch(node, "the shape of the filter");
  if (node.inputs[2] != kNone && shapes[node.inputs[2]].numel() != channels)
    return mismatch(node, "the size of the bias");
  if (graph.values[node.inputs[1]].constant == nullptr) return mismatch(node, "the filter is not constant");
  if (node.inputs[2] != kNone && graph.values[node.inputs[2]].constant == nullptr) {
    return mismatch(node, "the bias is not constant");
  }
  out->rank = 4;
  out->dims[0] = in.dims[0];
  if (node.kind == Kind::XNNConvTranspose2d) {
    out->dims[1] = transposed_positions(in.dims[1], int64_t{w.top} + w.bottom, w.height, w.dilation_height,
                                        w.stride_height, w.adjustment_height);
    out->dims[2] = transposed_positions(in.dims[2], int64_t{w.left} + w.right, w.width, w.dilation_width,
                                        w.stride_width, w.adjustment_width);
  } else {
    out->dims[1] = positions(in.dims[1], int64_t{w.top} + w.bottom, w.height, w.dilation_height, w.stride_height);
    out->dims[2] = positions(in.dims[2], int64_t{w.left} + w.right, w.width, w.dilation_width, w.stride_width);
  }
  out->dims[3] = channels;
  return Error::Ok;
}

Error pool(const Node& node, const Shape& in, Shape* out) {
  const PayloadWindow& w = node.window;
  if (in.rank != 4) return mismatch(node, "the input of a pooling must have four dimensions");
  // The result of a window that is completely in the padding is undefined.
  if (w.top >= w.height * w.dilation_height || w.left >= w.width * w.dilation_width)
    return mismatch(node, "a window is completely in the padding");
  out->rank = 4;
  out->dims[0] = in.dims[0];
  out->dims[1] = positions(in.dims[1], int64_t{w.top} + w.bottom, w.height, w.dilation_height, w.stride_height);
  out->dims[2] = positions(in.dims[2], int64_t{w.left} + w.right, w.width, w.dilation_width, w.stride_width);
  out->dims[3] = in.dims[3];
  if ((out->dims[1] - 1) * w.stride_height - w.top >= in.dims[1])
    return mismatch(node, "a window is completely in the padding");
  if ((out->dims[2] - 1) * w.stride_width - w.left >= in.dims[2])
    return mismatch(node, "a window is completely in the padding");
  return Error::Ok;
}

Error global_pool(const Node& node, const Shape& in, Shape* out) {
  if (in.rank != 4) return mismatch(node, "the input of a pooling must have four dimensions");
  const bool keeps_dims = (node.flags & kKeepDims) != 0;
  *out = keeps_dims ? Shape{4, {in.dims[0], 1, 1, in.dims[3]}} : Shape{2, {in.dims[0], in.dims[3]}};
  return Error::Ok;
}

Error fully_connected(const Node& node, const Shape* shapes, Shape* out) {
  const Shape& in = shapes[node.inputs[0]];
  const Shape& filter = shapes[node.inputs[1]];
  if (in.rank == 0 || filter.rank != 2) return mismatch(node, "the rank of the input or of the weights");
  const bool is_transposed = (node.flags & kTransposeWeights) != 0;
  if (in.last() != filter.dims[is_transposed ? 0 : 1])
    return mismatch(node, "the features of the input differ from those of the weights");
  const int64_t features = filter.dims[is_transposed ? 1 : 0];
  if (node.inputs[2] != kNone && shapes[node.inputs[2]].numel() != features)
    return mismatch(node, "the size of the bias");
  *out = in;
  out->dims[in.rank - 1] = features;
  return Error::Ok;
}

Error reshape(const Node& node, const Shape& in, Shape* out) {
  out->rank = node.rank;
  int64_t product = 1;
  uint32_t inferred = kNone;
  for (uint32_t i = 0; i < node.rank; ++i) {
    out->dims[i] = node.first[i];
    if (node.first[i] == 0) {
      if (inferred != kNone)
        return mismatch(node, "the new shape has two sizes of 0, of which only one can be inferred");
      inferred = i;
    } else {
      product *= node.first[i];
      if (product > kMaxElements) return mismatch(node, "the new shape is too large");
    }
  }
  if (inferred != kNone) out->dims[inferred] = in.numel() / product;
  if (out->numel() != in.numel())
    return mismatch(node, "the input and the new shape have different numbers of elements");
  return Error::Ok;
}

Error transpose(const Node& node, const Shape& in, Shape* out) {
  if (node.rank != in.rank) return mismatch(node, "the permutation and the input have different ranks");
  out->rank = in.rank;
  for (uint32_t i = 0; i < in.rank; ++i) out->dims[i] = in.dims[node.first[i]];
  return Error::Ok;
}

Error slice(const Node& node, const Shape& in, Shape* out) {
  if (node.rank != in.rank) return mismatch(node, "the rank of the input");
  out->rank = in.rank;
  for (uint32_t i = 0; i < in.rank; ++i) {
    out->dims[i] = node.second[i] == 0 ? in.dims[i] - node.first[i] : node.second[i];
    if (out->dims[i] > in.dims[i] - node.first[i]) return mismatch(node, "the slice extends beyond the input");
  }
  return Error::Ok;
}

Error pad(const Node& node, const Shape& in, Shape* out) {
  if (node.rank != in.rank) return mismatch(node, "the rank of the input");
  out->rank = in.rank;
  for (uint32_t i = 0; i < in.rank; ++i) out->dims[i] = in.dims[i] + int64_t{node.first[i]} + node.second[i];
  return Error::Ok;
}

Error resize(const Node& node, const Shape& in, Shape* out) {
  if (in.rank != 4) return mismatch(node, "the input of a resize must have four dimensions");
  *out = Shape{4, {in.dims[0], node.height, node.width, in.dims[3]}};
  return Error::Ok;
}

Error prelu(const Graph& graph, const Node& node, const Shape* shapes, Shape* out) {
  const Shape& in = shapes[node.inputs[0]];
  if (in.rank == 0 || shapes[node.inputs[1]].numel() != in.last()) return mismatch(node, "the number of slopes");
  if (graph.values[node.inputs[1]].constant == nullptr) return mismatch(node, "the slopes are not constant");
  *out = in;
  return Error::Ok;
}

Error concatenate(const Node& node, const Shape* shapes, Shape* out) {
  *out = shapes[node.inputs[0]];
  if (node.axis >= out->rank) return mismatch(node, "the axis does not exist");
  for (uint32_t i = 1; i < node.num_inputs; ++i) {
    const Shape& in = shapes[node.inputs[i]];
    if (in.rank != out->rank) return mismatch(node, "the ranks of the inputs");
    for (uint32_t axis = 0; axis < in.rank; ++axis) {
      if (axis != node.axis && in.dims[axis] != out->dims[axis])
        return mismatch(node, "the inputs differ in a size other than that of the axis");
    }
    out->dims[node.axis] += in.dims[node.axis];
  }
  return Error::Ok;
}

Error batch_product(const Node& node, const Shape& a, const Shape& b, Shape* out) {
  if (a.rank < 2 || a.rank != b.rank) return mismatch(node, "the ranks of the inputs");
  for (uint32_t axis = 0; axis + 2 < a.rank; ++axis) {
    if (a.dims[axis] != b.dims[axis]) return mismatch(node, "the batch sizes of the inputs");
  }
  if (a.last() != b.dims[b.rank - 2]) return mismatch(node, "the inner dimensions of the inputs");
  *out = a;
  out->dims[out->rank - 1] = b.last();
  return Error::Ok;
}

Error attention(const Node& node, const Shape* shapes, Shape* out) {
  const Shape &query = shapes[node.inputs[0]], &key = shapes[node.inputs[1]], &value = shapes[node.inputs[2]];
  const Shape &scale = shapes[node.inputs[3]], &mask = shapes[node.inputs[4]];
  if (query.rank < 2 || key.rank != query.rank || value.rank != query.rank)
    return mismatch(node, "the ranks of the inputs");
  for (uint32_t axis = 0; axis + 2 < query.rank; ++axis) {
    if (query.dims[axis] != key.dims[axis] || query.dims[axis] != value.dims[axis])
      return mismatch(node, "the batch sizes of the inputs");
  }
  const int64_t tokens = query.dims[query.rank - 2], past = key.dims[key.rank - 2];
  if (query.last() != key.last() || past != value.dims[value.rank - 2])
    return mismatch(node, "the inner dimensions of the inputs");
  if (scale.numel() != query.last()) return mismatch(node, "the size of the scale");
  if (mask.rank < 2 || mask.numel() != tokens * past || mask.last() != past)
    return mismatch(node, "the shape of the mask");
  *out = query;
  out->dims[out->rank - 1] = value.last();
  return Error::Ok;
}

bool joins_inputs(const Node& node) {
  return node.kind == Kind::XNNConcatenate2 || node.kind == Kind::XNNConcatenate3 ||
         node.kind == Kind::XNNConcatenate4 || node.kind == Kind::XNNConcatenate5;
}

Error infer(const Graph& graph, const Node& node, const Shape* shapes, Shape* out) {
  const Shape& in = shapes[node.inputs[0]];
  switch (node.kind) {
    case Kind::XNNAdd:
    case Kind::XNNDiv:
    case Kind::XNNMinimum:
    case Kind::XNNMultiply:
    case Kind::XNNSubtract:
    case Kind::XNNMaximum:
      return broadcast(node, in, shapes[node.inputs[1]], out);
    case Kind::XNNConv2d:
    case Kind::XNNDepthwiseConv2d:
    case Kind::XNNConvTranspose2d:
      return convolution(graph, node, shapes, out);
    case Kind::XNNAvgPooling2d:
    case Kind::XNNMaxPooling2d:
      return pool(node, in, out);
    case Kind::XNNGlobalAvgPooling2d:
      return global_pool(node, in, out);
    case Kind::XNNFullyConnected:
      return fully_connected(node, shapes, out);
    case Kind::XNNBatchMatrixMultiply:
      return batch_product(node, in, shapes[node.inputs[1]], out);
    case Kind::XNNScaledDotProductAttention:
      return attention(node, shapes, out);
    case Kind::XNNStaticReshape:
      return reshape(node, in, out);
    case Kind::XNNConcatenate2:
    case Kind::XNNConcatenate3:
    case Kind::XNNConcatenate4:
    case Kind::XNNConcatenate5:
      return concatenate(node, shapes, out);
    case Kind::XNNStaticTranspose:
      return transpose(node, in, out);
    case Kind::XNNStaticSlice:
      return slice(node, in, out);
    case Kind::XNNStaticConstantPad:
      return pad(node, in, out);
    case Kind::XNNStaticResizeBilinear2D:
      return resize(node, in, out);
    case Kind::XNNPReLU:
      return prelu(graph, node, shapes, out);
    case Kind::XNNSoftmax:
      if (in.rank == 0) return mismatch(node, "the rank of the input");
      [[fallthrough]];
    default:
      *out = in;
      return Error::Ok;
  }
}

}  // namespace

std::optional<float> fill_value(const Graph& graph, const Node& node) {
  if (is_quantized(graph.values[node.output])) return std::nullopt;
  switch (node.kind) {
    case Kind::XNNBatchMatrixMultiply:
      return 0.0f;
    case Kind::XNNStaticConstantPad:
      return node.number;
    case Kind::XNNGlobalAvgPooling2d:
      return NAN;
    default:
      return std::nullopt;
  }
}

// Empty results are not computed. If an input is empty and the result is not, all elements of the result must have a
// known value.
Error infer_shape(const Graph& graph, const Node& node, Shape* shapes) {
  Shape out;
  bool has_empty_input = false;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    has_empty_input = has_empty_input || (node.inputs[i] != kNone && shapes[node.inputs[i]].numel() == 0);
  }
  RL_TRY(infer(graph, node, shapes, &out));
  if (check_shape(out, has_empty_input) != Error::Ok) return mismatch(node, "the result is empty or too large");
  if (has_empty_input && out.numel() > 0 && !joins_inputs(node) && !fill_value(graph, node)) {
    return mismatch(node, "an input is empty, but the result is not");
  }
  shapes[node.output] = out;
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
