// Steps of quantized nodes with int8 microkernels.
#pragma once

#include "backends/xnnpack/f32_step.h"
#include "backends/xnnpack/threaded_step.h"
#include "microkernels/tables/int8.h"

namespace rushlight::xnnpack {

// Whether a value is int8 with a single scale.
inline bool is_plain_int8(const Value& value) {
  return value.dtype == ScalarType::Char && value.quantization.by == Quantization::By::Tensor;
}

// Returns the zero point and the bounds of a node's int8 output.
microkernels::Int8Range range_of(const Graph& graph, const Node& node);

// Each function makes one kind of step, or sets `*step` to null if this kind of step does not support the node.
Error make_int8_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                               MemoryAllocator& allocator, Step** step);
Error make_int8_gemm_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step);
Error make_int8_groups_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                            MemoryAllocator& allocator, Step** step);
Error make_int8_convert_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                             Step** step);
Error make_int8_binary_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                            Step** step);
Error make_int8_pool_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                          Step** step);

// Returns the scale of the weights of an output channel. Call it only while steps are made, because the scales are
// freed afterwards.
float weight_scale(const Value& weights, int64_t channel);

}  // namespace rushlight::xnnpack
