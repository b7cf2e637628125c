#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {
namespace {

bool has_quantized_values(const Graph& graph, const Node& node) {
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if (node.inputs[i] != kNone && is_quantized(graph.values[node.inputs[i]])) return true;
  }
  return is_quantized(graph.values[node.output]);
}

// Whether XNNPACK's operator does not propagate NaN, and Rushlight's kernel is not slower. XNNPACK clamps all results,
// if necessary to infinite bounds, and its clamp replaces NaN by a bound.
bool is_kernel_better(Kind kind) {
  switch (kind) {
    case Kind::XNNAdd:
    case Kind::XNNSubtract:
    case Kind::XNNMultiply:
    case Kind::XNNDiv:
    case Kind::XNNMinimum:
    case Kind::XNNMaximum:
    case Kind::XNNClamp:
    case Kind::XNNSoftmax:
    case Kind::XNNAvgPooling2d:
    case Kind::XNNMaxPooling2d:
    case Kind::XNNGlobalAvgPooling2d:
    case Kind::XNNConvTranspose2d:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<Step*> make_step(const Graph& graph, const Node& node, const Operand* operands, const Options& options,
                        size_t threads, MemoryAllocator& allocator) {
  const bool is_quantized = has_quantized_values(graph, node);
#if defined(RUSHLIGHT_HAS_MICROKERNELS)
  if (is_quantized && options.microkernels) {
    Step* step = nullptr;
    RL_TRY(make_int8_step(graph, node, operands, threads, allocator, &step));
    if (step) return step;
  }
#endif
  if (is_quantized && node.kind == Kind::XNNConvert) return make_requantize_step(graph, node, allocator);
  RL_ASSIGN(Step * move, make_move_step(node, allocator));
  if (move) return move;
  if (is_quantized) return make_dequantize_fallback_step(graph, node, operands, options, threads, allocator);
#if defined(RUSHLIGHT_HAS_MICROKERNELS)
  if (options.microkernels) {
    Step* step = nullptr;
    RL_TRY(make_f32_step(graph, node, operands, options.exact, threads, allocator, &step));
    if (step) return step;
  }
#endif
  const bool prefers_kernel = options.own_kernels || is_kernel_better(node.kind);
  if (prefers_kernel) {
    auto step = make_kernel_step(graph, node, options.kernels, allocator);
    if (step.ok()) return step;
  }
  auto step = make_library_step(graph, node, operands, allocator);
  if (step.ok() || step.error() != Error::NotSupported) return step;
  if (!prefers_kernel) {
    auto kernel_step = make_kernel_step(graph, node, options.kernels, allocator);
    if (kernel_step.ok() || kernel_step.error() != Error::NotSupported) return kernel_step;
  }
  return make_scalar_step(graph, node, allocator);
}

}  // namespace rushlight::xnnpack
