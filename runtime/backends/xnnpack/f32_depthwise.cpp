// Depthwise convolutions.
#include <algorithm>
#include <new>

#include "backends/xnnpack/f32_step.h"
#include "microkernels/dwconv/f32.h"

namespace rushlight::xnnpack {
namespace {

using microkernels::PackedDepthwise;

// The packed weights are [taps, channels], followed by the bias [channels].
class DepthwiseStep final : public F32Step {
 public:
  DepthwiseStep(const Node& node, size_t threads, PackedWeights&& weights)
      : F32Step(node, threads), weights_(static_cast<PackedWeights&&>(weights)) {}

  size_t scratch_bytes(const Operand*) const override { return 0; }

  Error setup(const Operand* operands, void* scratch, pthreadpool* pool) override {
    RL_TRY(F32Step::setup(operands, scratch, pool));
    PackedDepthwise& c = convolution_;
    c.kernels = &microkernels::f32_microkernels();
    c.window = conv_.window();
    c.channels = conv_.channels();
    c.epilogue = epilogue();
    c.weights = weights_.floats();
    c.bias = c.weights + conv_.kernel_h * conv_.kernel_w * c.channels;
    return c.prepare(conv_.input(), conv_.output());
  }

  Error run(KernelRuntimeContext& context) override {
    convolution_.run(context, workers(context), in_, out_);
    return Error::Ok;
  }

 private:
  PackedWeights weights_;
  PackedDepthwise convolution_;
};

}  // namespace

bool supports_depthwise(const Node& node) {
  const PayloadWindow& w = node.window;
  return w.group_inputs == 1 && w.group_outputs == 1 && w.groups > 1 &&
         static_cast<int64_t>(w.height) <= PackedDepthwise::kMaxRows;
}

Error make_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step) {
  if (!supports_depthwise(node)) return Error::Ok;
  const Conv c = conv_of(node, operands);
  const int64_t taps = c.kernel_h * c.kernel_w, channels = c.groups;
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  const bool is_depthwise = node.kind == Kind::XNNDepthwiseConv2d;  // weights [taps, channels], else [channels, taps]
  const size_t count = static_cast<size_t>((taps + 1) * channels);
  RL_ASSIGN(PackedWeights weights, PackedWeights::get(packing_key(graph, node, 2), count, [&](float* to) {
              for (int64_t i = 0; i < taps * channels; ++i) {
                to[i] = is_depthwise ? filter[i] : filter[i % channels * taps + i / channels];
              }
              if (bias) std::copy(bias, bias + channels, to + taps * channels);
            }));
  return make_in<DepthwiseStep>(allocator, step, node, threads, static_cast<PackedWeights&&>(weights));
}

}  // namespace rushlight::xnnpack
