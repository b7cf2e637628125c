// Convolutions and fully connected layers as GEMMs with packed weights.
#include <algorithm>
#include <cstring>
#include <new>

#include "backends/xnnpack/f32_step.h"
#include "core/rounding.h"
#include "microkernels/conv/f32.h"

namespace rushlight::xnnpack {
namespace {

using microkernels::PackedConvolution;

// The packed data: a matrix [depth, outputs] for each group, then the bias, then zeros. Each group of the bias is read
// in whole vectors, so that up to 64 numbers follow it.
struct Extents {
  int64_t depth, matrix, bias, zeros;  // numbers of floats
  explicit Extents(const Conv& c)
      : depth(c.kernel_h * c.kernel_w * c.inputs),
        matrix(depth * microkernels::packing_of(microkernels::f32_microkernels()).columns(c.outputs)),
        bias(round_up(c.out_channels(), 64) + 64),
        zeros(c.groups * c.inputs + PackedConvolution::kZerosAfterPixel) {}
  int64_t total(const Conv& c) const { return c.groups * matrix + bias + zeros; }
};

class GemmStep final : public F32Step {
 public:
  GemmStep(const Node& node, size_t threads, PackedWeights&& weights)
      : F32Step(node, threads), weights_(static_cast<PackedWeights&&>(weights)) {}

  size_t scratch_bytes(const Operand* operands) const override {
    PackedConvolution convolution;
    if (prepare(conv_of(node_, operands), &convolution) != Error::Ok) return 0;
    return convolution.scratch_floats(threads_) * sizeof(float);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool* pool) override {
    RL_TRY(F32Step::setup(operands, scratch, pool));
    return prepare(conv_, &convolution_);
  }

  Error run(KernelRuntimeContext& context) override {
    convolution_.run(context, workers(context), &in_, out_, residual_, scratch_);
    return Error::Ok;
  }

 private:
  Error prepare(const Conv& c, PackedConvolution* convolution) const {
    const Extents e(c);
    convolution->kernels = &microkernels::f32_microkernels();
    convolution->window = c.window();
    convolution->groups = c.groups;
    convolution->channels = c.inputs;
    convolution->outputs = c.outputs;
    convolution->epilogue = epilogue();
    convolution->weights = weights_.floats();
    convolution->bias = weights_.floats() + c.groups * e.matrix;
    convolution->zeros = convolution->bias + e.bias;
    const microkernels::Image out = c.output();
    return convolution->prepare(c.input(), out, has_residual() ? &out : nullptr);
  }

  PackedWeights weights_;
  PackedConvolution convolution_;
};

}  // namespace

Error make_gemm_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                     MemoryAllocator& allocator, Step** step) {
  if (node.kind == Kind::XNNDepthwiseConv2d) return Error::Ok;
  const Conv c = conv_of(node, operands);
  const Extents e(c);
  const bool is_out_in = node.kind != Kind::XNNFullyConnected || (node.flags & kTransposeWeights) == 0;
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  const size_t count = static_cast<size_t>(e.total(c));
  RL_ASSIGN(PackedWeights weights, PackedWeights::get(packing_key(graph, node, 1), count, [&](float* to) {
              for (int64_t g = 0; g < c.groups; ++g) {
                microkernels::pack(microkernels::f32_microkernels(), is_out_in, filter + g * c.outputs * e.depth,
                                   is_out_in ? e.depth : c.outputs, e.depth, c.outputs, to + g * e.matrix);
              }
              if (bias) std::copy(bias, bias + c.out_channels(), to + c.groups * e.matrix);
            }));
  return make_in<GemmStep>(allocator, step, node, threads, static_cast<PackedWeights&&>(weights));
}

}  // namespace rushlight::xnnpack
