// Conversions (XNNConvert) between floats and quantized numbers.
#include <algorithm>
#include <cmath>
#include <new>

#include "backends/xnnpack/convert.h"
#include "backends/xnnpack/quantized.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {
namespace {

class RequantizeStep final : public Step {
 public:
  RequantizeStep(const Graph& graph, const Node& node)
      : Step(node), in_value_(graph.values[node.inputs[0]]), out_value_(graph.values[node.output]) {}

  size_t scratch_bytes(const Operand* operands) const override {
    return static_cast<size_t>(operands[node_.output].numel()) * sizeof(float);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    in_ = operands[node_.inputs[0]];
    out_ = operands[node_.output];
    floats_ = static_cast<float*>(scratch);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext&) override {
    const int64_t count = out_.numel();
    if (is_quantized(in_value_)) {
      numbers_to_float(in_value_, in_, floats_);
    } else {
      to_float(in_.dtype, in_.data, count, floats_);
    }
    if (out_value_.quantization.by == Quantization::By::Row) {
      for (int64_t i = 0; i < out_.rows(); ++i) quantize_row(i);
    } else if (is_quantized(out_value_)) {
      numbers_from_float(out_value_, floats_, count, out_.data);
    } else {
      from_float(out_.dtype, floats_, count, out_.data);
    }
    return Error::Ok;
  }

 private:
  void quantize_row(int64_t row) const {
    const int64_t size = out_.row_size();
    const float* from = floats_ + row * size;
    float least = 0, most = 0;
    for (int64_t i = 0; i < size; ++i) {
      least = from[i] < least ? from[i] : least;
      most = from[i] > most ? from[i] : most;
    }
    Value scaled;
    scaled.dtype = ScalarType::Char;
    choose_row_scale(least, most, &scaled.quantization.scale, &scaled.quantization.zero);
    out_.row_scales()[row] = scaled.quantization.scale;
    out_.row_zeros()[row] = scaled.quantization.zero;
    numbers_from_float(scaled, from, size, static_cast<int8_t*>(out_.data) + row * size);
  }

  const Value& in_value_;
  const Value& out_value_;
  Operand in_, out_;
  float* floats_ = nullptr;
};

}  // namespace

// Chooses the same parameters as XNNPACK: 0 is represented exactly, and the zero point is computed from the bound with
// the smaller rounding error.
void choose_row_scale(float least, float most, float* scale, int32_t* zero) {
  least = std::min(least, 0.0f);
  most = std::max(most, 0.0f);
  // The reciprocal of a denormal range is infinite.
  const bool is_range = std::isfinite(most - least) && std::isfinite(255.0f / (most - least));
  const float inverse = is_range ? 255.0f / (most - least) : 1.0f;
  const float low = least * inverse, high = most * inverse;
  const float exact = (-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high;
  *zero = is_range ? static_cast<int32_t>(std::nearbyint(std::min(std::max(exact, -128.0f), 127.0f))) : 0;
  *scale = 1.0f / inverse;
}

Result<Step*> make_requantize_step(const Graph& graph, const Node& node, MemoryAllocator& allocator) {
  void* memory = allocator.allocate(sizeof(RequantizeStep), alignof(RequantizeStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  return static_cast<Step*>(new (memory) RequantizeStep(graph, node));
}

}  // namespace rushlight::xnnpack
