// Quantized nodes without an integer implementation: they run as float nodes between dequantized inputs and a quantized
// result.
#include <new>

#include "backends/xnnpack/quantized.h"
#include "backends/xnnpack/step.h"
#include "core/make_array.h"

namespace rushlight::xnnpack {
namespace {

constexpr size_t kReadMargin = 64;  // bytes after the end of an array that a step may read

class DequantizeFallbackStep final : public Step {
 public:
  DequantizeFallbackStep(const Graph& graph, const Node& node) : Step(node), outer_(graph) {}
  ~DequantizeFallbackStep() override {
    if (inner_) inner_->~Step();
  }

  Error make(const Operand* operands, const Options& options, size_t threads, MemoryAllocator& allocator) {
    Value* values = make_array<Value>(allocator, node_.num_inputs + 1);
    RL_REQUIRE(values != nullptr, MemoryAllocationFailed, "no memory for a step");
    graph_.values = {values, node_.num_inputs + 1};
    inner_node_ = node_;
    for (uint32_t i = 0; i <= node_.num_inputs; ++i) {
      const uint32_t id = i < node_.num_inputs ? node_.inputs[i] : node_.output;
      if (id == kNone) continue;
      (i < node_.num_inputs ? inner_node_.inputs[i] : inner_node_.output) = i;
      const Value& value = outer_.values[id];
      values[i].shape = value.shape;
      values[i].dtype = is_quantized(value) ? ScalarType::Float : value.dtype;
      values[i].constant = value.constant;
      if (!is_quantized(value) || value.constant == nullptr) continue;
      float* floats = allocator.allocate_array<float>(static_cast<size_t>(value.shape.numel()) + 16);
      RL_REQUIRE(floats != nullptr, MemoryAllocationFailed, "no memory for the weights of a step");
      constant_to_float(value, floats);
      values[i].constant = floats;
    }
    Operand inner[kMaxValues];
    set_inner_shapes(operands, inner);
    for (uint32_t i = 0; i < node_.num_inputs; ++i) inner[i].data = const_cast<void*>(values[i].constant);
    RL_ASSIGN(inner_, make_step(graph_, inner_node_, inner, options, threads, allocator));
    return Error::Ok;
  }

  size_t scratch_bytes(const Operand* operands) const override {
    Operand inner[kMaxValues];
    set_inner_shapes(operands, inner);
    size_t bytes = inner_->scratch_bytes(inner);
    for (uint32_t i = 0; i <= node_.num_inputs; ++i) bytes += float_bytes(inner, i);
    return bytes;
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool* threads) override {
    Operand inner[kMaxValues];
    set_inner_shapes(operands, inner);
    uint8_t* free = static_cast<uint8_t*>(scratch);
    for (uint32_t i = 0; i <= node_.num_inputs; ++i) {
      const uint32_t id = outer_id(i);
      if (id == kNone) continue;
      operands_[i] = operands[id];
      inner[i].data = operands[id].data;
      floats_[i] = nullptr;
      if (!is_quantized(outer_.values[id])) continue;
      if (graph_.values[i].constant) {
        inner[i].data = const_cast<void*>(graph_.values[i].constant);
        continue;
      }
      inner[i].data = floats_[i] = reinterpret_cast<float*>(free);
      free += float_bytes(inner, i);
    }
    return inner_->setup(inner, free, threads);
  }

  Error run(KernelRuntimeContext& context) override {
    for (uint32_t i = 0; i < node_.num_inputs; ++i) {
      if (floats_[i]) numbers_to_float(outer_.values[node_.inputs[i]], operands_[i], floats_[i]);
    }
    RL_TRY(inner_->run(context));
    const uint32_t out = node_.num_inputs;
    if (floats_[out]) {
      numbers_from_float(outer_.values[node_.output], floats_[out], operands_[out].numel(), operands_[out].data);
    }
    return Error::Ok;
  }

  bool reads(uint32_t input) const override {
    if (node_.inputs[input] == kNone) return false;
    const Value& value = outer_.values[node_.inputs[input]];
    return is_quantized(value) ? value.constant == nullptr : inner_->reads(input);
  }
  bool reads_past_end() const override { return inner_->reads_past_end(); }

 private:
  static constexpr uint32_t kMaxValues = 6;

  uint32_t outer_id(uint32_t i) const { return i < node_.num_inputs ? node_.inputs[i] : node_.output; }

  void set_inner_shapes(const Operand* operands, Operand* inner) const {
    for (uint32_t i = 0; i <= node_.num_inputs; ++i) {
      if (outer_id(i) == kNone) continue;
      inner[i].shape = operands[outer_id(i)].shape;
      inner[i].dtype = graph_.values[i].dtype;
    }
  }

  // Returns the bytes of the float32 copy of a value that is not constant, or 0 if it needs no copy.
  size_t float_bytes(const Operand* inner, uint32_t i) const {
    if (outer_id(i) == kNone || !is_quantized(outer_.values[outer_id(i)]) || graph_.values[i].constant) return 0;
    return (inner[i].nbytes() + kReadMargin + 63) / 64 * 64;
  }

  const Graph& outer_;
  Graph graph_;
  Node inner_node_;
  Step* inner_ = nullptr;
  Operand operands_[kMaxValues];
  float* floats_[kMaxValues] = {};
};

}  // namespace

Result<Step*> make_dequantize_fallback_step(const Graph& graph, const Node& node, const Operand* operands,
                                            const Options& options, size_t threads, MemoryAllocator& allocator) {
  void* memory = allocator.allocate(sizeof(DequantizeFallbackStep), alignof(DequantizeFallbackStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  DequantizeFallbackStep* step = new (memory) DequantizeFallbackStep(graph, node);
  const Error error = step->make(operands, options, threads, allocator);
  if (error == Error::Ok) return static_cast<Step*>(step);
  step->~DequantizeFallbackStep();
  return error;
}

}  // namespace rushlight::xnnpack
