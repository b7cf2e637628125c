#include "backends/xnnpack/f32_step.h"

#include <new>

#include "backends/xnnpack/read_quantization.h"
#include "microkernels/tables/f32.h"

namespace rushlight::xnnpack {

Conv conv_of(const Node& node, const Operand* operands) {
  const Shape& in = operands[node.inputs[0]].shape;
  const Shape& out = operands[node.output].shape;
  if (node.kind == Kind::XNNFullyConnected) {
    const Shape& filter = operands[node.inputs[1]].shape;
    const bool is_transposed = (node.flags & kTransposeWeights) != 0;
    const int64_t inputs = filter.dims[is_transposed ? 0 : 1], outputs = filter.dims[is_transposed ? 1 : 0];
    const int64_t rows = in.numel() / inputs;
    return {rows, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, inputs, outputs};
  }
  const PayloadWindow& w = node.window;
  return {in.dims[0], in.dims[1],      in.dims[2],     out.dims[1],       out.dims[2],      w.height,
          w.width,    w.stride_height, w.stride_width, w.dilation_height, w.dilation_width, w.top,
          w.left,     w.groups,        w.group_inputs, w.group_outputs};
}

Error F32Step::setup(const Operand* operands, void* scratch, pthreadpool*) {
  conv_ = conv_of(node_, operands);
  in_ = static_cast<const float*>(operands[node_.inputs[0]].data);
  out_ = static_cast<float*>(operands[node_.output].data);
  if (has_residual()) {
    const Operand& residual = operands[node_.inputs[Node::kResidual]];
    RL_REQUIRE(residual.shape == operands[node_.output].shape, InvalidArgument,
               "the shape of a residual differs from the shape of the result that it is added to");
    residual_ = static_cast<const float*>(residual.data);
  }
  scratch_ = static_cast<float*>(scratch);
  return Error::Ok;
}

PackingKey packing_key(const Graph& graph, const Node& node, uint64_t algorithm) {
  const Value& weights = graph.values[node.inputs[1]];
  PackingKey key;
  key.name = weights.name;
  key.data = weights.constant;
  key.size = static_cast<size_t>(constant_bytes(weights));
  key.layout[0] = algorithm;
  for (uint32_t i = 0; i < weights.shape.rank && i < 4; ++i) {
    key.layout[1 + i] = static_cast<uint64_t>(weights.shape.dims[i]);
  }
  key.layout[5] = uint64_t{node.flags} << 32 | node.window.groups;
  if (node.inputs[2] != kNone) {
    const Value& bias = graph.values[node.inputs[2]];
    key.bias_hash = hash_of(bias.constant, static_cast<size_t>(bias.shape.numel()) * element_size(bias.dtype));
  }
  return key;
}

bool set_activation(Kind kind, float number, microkernels::Epilogue* epilogue) {
  switch (kind) {
    case Kind::XNNHardswish:
      epilogue->op = microkernels::UnaryOp::HardSwish;
      break;
    case Kind::XNNSigmoid:
      epilogue->op = microkernels::UnaryOp::Sigmoid;
      break;
    case Kind::XNNTanh:
      epilogue->op = microkernels::UnaryOp::Tanh;
      break;
    case Kind::XNNGelu:
      epilogue->op = microkernels::UnaryOp::Gelu;
      break;
    case Kind::XNNLeakyReLU:
      epilogue->op = microkernels::UnaryOp::LeakyRelu;
      epilogue->p = number;
      break;
    default:
      return false;
  }
  epilogue->applies = true;
  return true;
}

// With SSE or narrower vectors, XNNPACK's own operators are faster.
bool supports_f32(const Graph& graph, const Node& node) {
  const bool is_product = node.kind == Kind::XNNFullyConnected;
  if (!is_product && node.kind != Kind::XNNConv2d && node.kind != Kind::XNNDepthwiseConv2d) return false;
  if (microkernels::f32_microkernels().width < 8) return false;
  if (node.kind == Kind::XNNDepthwiseConv2d && !supports_depthwise(node)) return false;
  for (uint32_t i = 0; i < 3; ++i) {
    if (node.inputs[i] == kNone) continue;
    const Value& value = graph.values[node.inputs[i]];
    if (value.dtype != ScalarType::Float || (i > 0 && value.constant == nullptr)) return false;
  }
  return graph.values[node.output].dtype == ScalarType::Float;
}

Error make_f32_step(const Graph& graph, const Node& node, const Operand* operands, bool is_exact, size_t threads,
                    MemoryAllocator& allocator, Step** step) {
  *step = nullptr;
  if (node.kind == Kind::XNNGlobalAvgPooling2d) return make_mean_step(graph, node, threads, allocator, step);
  if (!supports_f32(graph, node)) return Error::Ok;
  const bool is_product = node.kind == Kind::XNNFullyConnected;
  if (!is_product) {
    RL_TRY(make_depthwise_step(graph, node, operands, threads, allocator, step));
    if (*step == nullptr && !is_exact) {
      RL_TRY(make_winograd_step(graph, node, operands, threads, allocator, step));
    }
  }
  if (*step == nullptr) RL_TRY(make_gemm_step(graph, node, operands, threads, allocator, step));
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
