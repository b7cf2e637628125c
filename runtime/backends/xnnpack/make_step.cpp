#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {
namespace {

bool has_numbers(const Graph& graph, const Node& node) {
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if (node.inputs[i] != kNone && is_quantized(graph.values[node.inputs[i]])) return true;
  }
  return is_quantized(graph.values[node.output]);
}

}  // namespace

Result<Step*> make_step(const Graph& graph, const Node& node, const Operand* operands, const Options& options,
                        size_t threads, MemoryAllocator& allocator) {
  const bool is_quantized = has_numbers(graph, node);
#if defined(RUSHLIGHT_HAS_MICROKERNELS)
  if (is_quantized && options.microkernels) {
    Step* step = nullptr;
    RL_TRY(make_int8_step(graph, node, operands, threads, allocator, &step));
    if (step) return step;
  }
#endif
  if (is_quantized && node.kind == Kind::XNNConvert) return make_requantize_step(graph, node, allocator);
  RL_ASSIGN(Step * moving, make_move_step(node, allocator));
  if (moving) return moving;
  if (is_quantized) return make_dequantize_fallback_step(graph, node, operands, options, threads, allocator);
#if defined(RUSHLIGHT_HAS_MICROKERNELS)
  if (options.microkernels) {
    Step* tiled = nullptr;
    RL_TRY(make_f32_step(graph, node, operands, options.exact, threads, allocator, &tiled));
    if (tiled) return tiled;
  }
#endif
  if (options.own_kernels || is_better_by_kernel(node.kind)) {
    auto step = make_kernel_step(graph, node, options.kernels, allocator);
    return step.ok() ? std::move(step) : make_library_step(graph, node, operands, allocator);
  }
  auto step = make_library_step(graph, node, operands, allocator);
  return step.ok() || step.error() != Error::NotSupported ? std::move(step)
                                                          : make_kernel_step(graph, node, options.kernels, allocator);
}

}  // namespace rushlight::xnnpack
