#include "backends/xnnpack/int8_step.h"

#include "backends/xnnpack/quantized.h"

namespace rushlight::xnnpack {

microkernels::Int8Range range_of(const Graph& graph, const Node& node) {
  const Quantization& q = graph.values[node.output].quantization;
  microkernels::Int8Range range{q.zero, -128, 127};
  if (node.has_bounds) {
    range.least = quantize_bound(q, node.min, -128, 127);
    range.most = quantize_bound(q, node.max, range.least, 127);
  }
  return range;
}

float weight_scale(const Value& weights, int64_t channel) {
  const Quantization& q = weights.quantization;
  return q.by == Quantization::By::Tensor ? q.scale : static_cast<const float*>(q.scales)[channel];
}

Error make_int8_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                     MemoryAllocator& allocator, Step** step) {
  *step = nullptr;
  switch (node.kind) {
    case Kind::XNNConv2d:
    case Kind::XNNDepthwiseConv2d:
      RL_TRY(make_int8_depthwise_step(graph, node, operands, threads, allocator, step));
      if (*step) return Error::Ok;
      return make_int8_gemm_step(graph, node, operands, threads, allocator, step);
    case Kind::XNNFullyConnected:
      RL_TRY(make_int8_groups_step(graph, node, operands, threads, allocator, step));
      if (*step) return Error::Ok;
      return make_int8_gemm_step(graph, node, operands, threads, allocator, step);
    case Kind::XNNConvert:
      return make_int8_convert_step(graph, node, threads, allocator, step);
    case Kind::XNNAdd:
    case Kind::XNNSubtract:
    case Kind::XNNMultiply:
      return make_int8_binary_step(graph, node, threads, allocator, step);
    case Kind::XNNClamp:
    case Kind::XNNMaxPooling2d:
    case Kind::XNNGlobalAvgPooling2d:
      return make_int8_pool_step(graph, node, threads, allocator, step);
    default:
      return Error::Ok;
  }
}

}  // namespace rushlight::xnnpack
