// Conversions between float32 and int8, with one scale or with a scale per row.
#include <cmath>

#include "backends/xnnpack/int8_step.h"
#include "backends/xnnpack/quantized.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;

constexpr int64_t kGrain = 1 << 14;  // fewest elements for each thread

class Int8ConvertStep final : public ThreadedStep {
 public:
  Int8ConvertStep(const Graph& graph, const Node& node, size_t threads)
      : ThreadedStep(node, threads), in_value_(graph.values[node.inputs[0]]), out_value_(graph.values[node.output]) {}

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    in_ = operands[node_.inputs[0]];
    out_ = operands[node_.output];
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const microkernels::Int8Loops& loops = microkernels::int8_microkernels().loops;
    if (out_value_.quantization.by == By::Row) {
      share(
          context, out_.rows(),
          [&](int64_t, int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) quantize_row(loops, row);
          },
          (kGrain + out_.row_size() - 1) / out_.row_size());
      return Error::Ok;
    }
    share(
        context, out_.numel(),
        [&](int64_t, int64_t begin, int64_t end) {
          if (is_plain_int8(out_value_)) {
            const Quantization& q = out_value_.quantization;
            loops.quantize(static_cast<const float*>(in_.data) + begin, end - begin, 1.0f / q.scale,
                           {q.zero, -128, 127}, static_cast<int8_t*>(out_.data) + begin);
          } else {
            const Quantization& q = in_value_.quantization;
            loops.expand(static_cast<const int8_t*>(in_.data) + begin, end - begin, q.zero, q.scale,
                         static_cast<float*>(out_.data) + begin);
          }
        },
        kGrain);
    return Error::Ok;
  }

 private:
  void quantize_row(const microkernels::Int8Loops& loops, int64_t row) const {
    const int64_t size = out_.row_size();
    const float* from = static_cast<const float*>(in_.data) + row * size;
    float least = 0, most = 0, scale = 1;
    int32_t zero = 0;
    loops.widen_range(from, size, &least, &most);
    choose_row_scale(least, most, &scale, &zero);
    out_.row_scales()[row] = scale;
    out_.row_zeros()[row] = zero;
    loops.quantize(from, size, 1.0f / scale, {zero, -128, 127}, static_cast<int8_t*>(out_.data) + row * size);
  }

  const Value& in_value_;
  const Value& out_value_;
  Operand in_, out_;
};

}  // namespace

Error make_int8_convert_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                             Step** step) {
  const Value& in = graph.values[node.inputs[0]];
  const Value& out = graph.values[node.output];
  const bool packs =
      !is_quantized(in) && in.dtype == ScalarType::Float && (is_plain_int8(out) || out.quantization.by == By::Row);
  const bool expands = is_plain_int8(in) && !is_quantized(out) && out.dtype == ScalarType::Float;
  if (!packs && !expands) return Error::Ok;
  return make_in<Int8ConvertStep>(allocator, step, graph, node, threads);
}

}  // namespace rushlight::xnnpack
