#include <algorithm>
#include <cmath>
#include <new>

#include "backends/xnnpack/convert.h"
#include "backends/xnnpack/exact_result.h"
#include "backends/xnnpack/step.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::xnnpack {
namespace {

bool is_pool(Kind kind) { return kind == Kind::XNNAvgPooling2d || kind == Kind::XNNMaxPooling2d; }

// Returns the mean or maximum of the elements of a window, without padding. The result is NaN if an element is NaN.
float pooled(const Node& node, const Shape& in, const float* floats, const Shape& out, int64_t index) {
  const PayloadWindow& w = node.window;
  const int64_t channels = out.dims[3], channel = index % channels;
  const int64_t x = index / channels % out.dims[2], y = index / channels / out.dims[2] % out.dims[1];
  const float* image = floats + index / channels / out.dims[2] / out.dims[1] * in.dims[1] * in.dims[2] * channels;
  const bool is_max = node.kind == Kind::XNNMaxPooling2d;
  const int64_t step_y = is_max ? w.dilation_height : 1, step_x = is_max ? w.dilation_width : 1;
  float sum = 0, most = -INFINITY;
  int64_t count = 0;
  for (int64_t ky = 0; ky < w.height; ++ky) {
    const int64_t row = y * w.stride_height + ky * step_y - w.top;
    if (row < 0 || row >= in.dims[1]) continue;
    for (int64_t kx = 0; kx < w.width; ++kx) {
      const int64_t column = x * w.stride_width + kx * step_x - w.left;
      if (column < 0 || column >= in.dims[2]) continue;
      const float value = image[(row * in.dims[2] + column) * channels + channel];
      sum += value;
      most = value > most || std::isnan(value) ? value : most;
      ++count;
    }
  }
  return is_max ? most : sum / static_cast<float>(count);
}

class ScalarStep final : public Step {
 public:
  explicit ScalarStep(const Node& node) : Step(node) {}

  // Scratch memory for float32 copies of the first input, and of the slopes of a PReLU, if they are half precision.
  size_t scratch_bytes(const Operand* operands) const override {
    return float_bytes(operands[node_.inputs[0]]) + (has_slopes() ? float_bytes(operands[node_.inputs[1]]) : 0);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    for (uint32_t i = 0; i < node_.num_inputs && i < 3; ++i) {
      if (node_.inputs[i] != kNone) inputs_[i] = operands[node_.inputs[i]];
    }
    out_ = operands[node_.output];
    auto* free = static_cast<float*>(scratch);
    for (uint32_t i = 0; i < (has_slopes() ? 2u : 1u); ++i) {
      floats_[i] = inputs_[i].dtype == ScalarType::Float ? static_cast<float*>(inputs_[i].data) : free;
      free += float_bytes(inputs_[i]) / sizeof(float);
    }
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    for (uint32_t i = 0; i < (has_slopes() ? 2u : 1u); ++i) {
      if (floats_[i] != inputs_[i].data) to_float(inputs_[i].dtype, inputs_[i].data, inputs_[i].numel(), floats_[i]);
    }
    context.parallel_for(0, out_.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float value = result(i);
        if (node_.has_bounds && value < node_.min) value = node_.min;
        if (node_.has_bounds && value > node_.max) value = node_.max;
        from_float(out_.dtype, &value, 1, static_cast<uint8_t*>(out_.data) + i * element_size(out_.dtype));
      }
    });
    return context.failure();
  }

 private:
  static constexpr int64_t kGrain = 1024;

  static size_t float_bytes(const Operand& operand) {
    if (operand.dtype == ScalarType::Float) return 0;
    return (static_cast<size_t>(operand.numel()) * sizeof(float) + 63) / 64 * 64;
  }

  bool has_slopes() const { return node_.kind == Kind::XNNPReLU; }

  float result(int64_t i) const {
    if (is_pool(node_.kind)) return pooled(node_, inputs_[0].shape, floats_[0], out_.shape, i);
    if (!has_slopes()) return exact_result(node_, inputs_, floats_[0], out_.shape, i);
    const float value = floats_[0][i];
    return value > 0 ? value : value * floats_[1][i % inputs_[1].numel()];
  }

  Operand inputs_[3], out_;
  float* floats_[2] = {};
};

}  // namespace

Result<Step*> make_scalar_step(const Graph& graph, const Node& node, MemoryAllocator& allocator) {
  const auto is_float = [](ScalarType dtype) {
    return dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16;
  };
  bool is_supported = loses_special_values(node.kind) || is_pool(node.kind) || node.kind == Kind::XNNPReLU;
  is_supported = is_supported && is_float(graph.values[node.output].dtype);
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    is_supported = is_supported && (node.inputs[i] == kNone || is_float(graph.values[node.inputs[i]].dtype));
  }
  RL_REQUIRE(is_supported, NotSupported, "this build has no implementation of a %s (debug handle %u)",
             name_of(node.kind), node.debug_handle);
  void* memory = allocator.allocate(sizeof(ScalarStep), alignof(ScalarStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  return static_cast<Step*>(new (memory) ScalarStep(node));
}

}  // namespace rushlight::xnnpack
