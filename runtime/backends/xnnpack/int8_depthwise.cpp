// Depthwise convolutions of int8 images.
#include "backends/xnnpack/int8_step.h"
#include "microkernels/dwconv/int8.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using microkernels::PackedInt8Depthwise;

class Int8DepthwiseStep final : public ThreadedStep {
 public:
  Int8DepthwiseStep(const Node& node, size_t threads, const PackedInt8Depthwise& convolution)
      : ThreadedStep(node, threads), convolution_(convolution) {}

  bool reads(uint32_t input) const override { return input == 0; }
  bool reads_past_end() const override { return true; }

  size_t scratch_bytes(const Operand* operands) const override {
    return static_cast<size_t>(threads_) * convolution_.worker_bytes(conv_of(node_, operands).out_width);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    const Conv c = conv_of(node_, operands);
    in_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    out_ = static_cast<uint8_t*>(operands[node_.output].data);
    scratch_ = static_cast<uint8_t*>(scratch);
    worker_bytes_ = convolution_.worker_bytes(c.out_width);
    const int64_t in[] = {c.batch, c.height, c.width, c.groups}, out[] = {c.batch, c.out_height, c.out_width, c.groups};
    RL_REQUIRE(convolution_.prepare(in, out), InvalidProgram, "the rows of an int8 depthwise convolution are too long");
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    share(context, convolution_.rows(), [&](int64_t worker, int64_t begin, int64_t end) {
      convolution_.run(in_, out_, begin, end, scratch_ + static_cast<size_t>(worker) * worker_bytes_);
    });
    return Error::Ok;
  }

 private:
  PackedInt8Depthwise convolution_;
  const int8_t* in_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
  size_t worker_bytes_ = 0;
};

}  // namespace

Error make_int8_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                               MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.output];
  if (c.inputs != 1 || c.outputs != 1 || c.groups == 1) return Error::Ok;
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;  // weights [taps, channels], else [channels, taps]
  const Quantization& scales = weights.quantization;
  if (!is_plain_int8(in) || !is_plain_int8(out) || weights.dtype != ScalarType::Char || weights.is_int4)
    return Error::Ok;
  if (scales.by == By::Tensor ? scales.zero != 0 : scales.axis != (is_depthwise ? 3u : 0u)) return Error::Ok;
  const bool has_bias = node.inputs[2] != kNone;
  if (has_bias && graph.values[node.inputs[2]].dtype != ScalarType::Int) return Error::Ok;

  PackedInt8Depthwise convolution;
  convolution.window = c.window();
  convolution.channels = c.groups;
  convolution.zero = in.quantization.zero;
  convolution.range = range_of(graph, node);
  const int64_t taps = convolution.taps(), channels = c.groups;
  if (taps > PackedInt8Depthwise::kMaxTaps) return Error::Ok;
  float* const multipliers = allocator.allocate_array<float>(static_cast<size_t>(channels));
  uint8_t* const packed = static_cast<uint8_t*>(allocator.allocate(convolution.packed_bytes(), 64));
  RL_REQUIRE(multipliers && packed, MemoryAllocationFailed, "no memory for %lld channels",
             static_cast<long long>(channels));
  const float ratio = in.quantization.scale / out.quantization.scale;
  for (int64_t i = 0; i < channels; ++i) multipliers[i] = weight_scale(weights, i) * ratio;
  convolution.multipliers = multipliers;
  if (has_bias) convolution.bias = static_cast<const int32_t*>(graph.values[node.inputs[2]].constant);

  const int8_t* const filter = static_cast<const int8_t*>(weights.constant);
  if (is_depthwise) {
    convolution.pack(filter, packed);
  } else {
    int8_t* const by_tap = static_cast<int8_t*>(platform::allocate(static_cast<size_t>(taps * channels), 64));
    RL_REQUIRE(by_tap != nullptr, MemoryAllocationFailed, "no memory for %lld channels",
               static_cast<long long>(channels));
    for (int64_t i = 0; i < taps * channels; ++i) by_tap[i] = filter[i % channels * taps + i / channels];
    convolution.pack(by_tap, packed);
    platform::release(by_tap);
  }
  return make_in<Int8DepthwiseStep>(allocator, step, node, threads, convolution);
}

}  // namespace rushlight::xnnpack
