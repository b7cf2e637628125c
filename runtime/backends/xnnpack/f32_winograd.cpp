// 3 x 3 convolutions by Winograd's algorithm.
#include <algorithm>
#include <new>

#include "backends/xnnpack/f32_step.h"
#include "microkernels/winograd/f32.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using microkernels::PackedWinograd;

// The transformed weights are finite if the sum of the squares of the weights is at most this.
constexpr double kMaxSquares = 1e16;

// Returns the floats of one matrix. The packed data are (m + 2)^2 matrices [inputs, outputs], then the bias.
int64_t matrix_of(const Conv& c) {
  return c.inputs * microkernels::packing_of(microkernels::f32_microkernels()).columns(c.outputs);
}

// Estimates the cycles: products (two vectors of 8 floats in each cycle), reads of the weights, and transforms.
double cost_of(const Conv& c, int64_t m) {
  const double weights = static_cast<double>(c.inputs) * static_cast<double>(c.outputs);
  if (m == 0) return static_cast<double>(c.pixels()) * 9 * weights / 16 + 9 * weights;
  const double tiles = static_cast<double>(c.batch * ((c.out_height + m - 1) / m) * ((c.out_width + m - 1) / m));
  const double points = static_cast<double>((m + 2) * (m + 2));
  return tiles * points * weights / 16 + points * weights +
         tiles * points * 0.7 * static_cast<double>(c.inputs + c.outputs);
}

class WinogradStep final : public F32Step {
 public:
  WinogradStep(const Node& node, size_t threads, int64_t m, PackedWeights&& weights)
      : F32Step(node, threads), m_(m), weights_(static_cast<PackedWeights&&>(weights)) {}

  size_t scratch_bytes(const Operand* operands) const override {
    PackedWinograd convolution;
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
  Error prepare(const Conv& c, PackedWinograd* convolution) const {
    convolution->kernels = &microkernels::f32_microkernels();
    convolution->m = m_;
    convolution->pad_h = c.top;
    convolution->pad_w = c.left;
    convolution->channels = c.inputs;
    convolution->outputs = c.outputs;
    convolution->epilogue = epilogue();
    convolution->weights = weights_.floats();
    convolution->bias = weights_.floats() + (m_ + 2) * (m_ + 2) * matrix_of(c);
    const microkernels::Image out = c.output();
    return convolution->prepare(c.input(), out, has_residual() ? &out : nullptr);
  }

  const int64_t m_;
  PackedWeights weights_;
  PackedWinograd convolution_;
};

}  // namespace

Error make_winograd_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                         MemoryAllocator& allocator, Step** step) {
  const Conv c = conv_of(node, operands);
  if (c.kernel_h != 3 || c.kernel_w != 3 || c.stride_h != 1 || c.stride_w != 1 || c.dilation_h != 1 ||
      c.dilation_w != 1 || c.groups != 1 || c.inputs < 16 || c.outputs < 16) {
    return Error::Ok;
  }
  int64_t m = 0;
  for (const int64_t other : {2, 3, 4}) m = cost_of(c, other) < 0.9 * cost_of(c, m) ? other : m;
  if (m == 0) return Error::Ok;
  const microkernels::F32Microkernels& t = microkernels::f32_microkernels();
  const float* filter = static_cast<const float*>(graph.values[node.inputs[1]].constant);
  // With larger weights or NaN, transformed weights might be infinite or NaN.
  if (!(t.squared_deviations(filter, 9 * c.inputs * c.outputs, 0.0f) <= kMaxSquares)) return Error::Ok;
  const float* bias =
      node.inputs[2] == kNone ? nullptr : static_cast<const float*>(graph.values[node.inputs[2]].constant);
  // Transforms the weights of one output channel at a time: [9, inputs] to [points, inputs].
  const int64_t points = (m + 2) * (m + 2), point = c.inputs * c.outputs, matrix = matrix_of(c);
  const size_t count = static_cast<size_t>(points * matrix + c.outputs);
  float* plain = static_cast<float*>(platform::allocate(static_cast<size_t>(points * point) * sizeof(float), 64));
  RL_REQUIRE(plain != nullptr, MemoryAllocationFailed, "no memory to transform %lld weights",
             static_cast<long long>(points * point));
  auto weights = PackedWeights::get(packing_key(graph, node, 3 + static_cast<uint64_t>(m)), count, [&](float* to) {
    const auto transform = t.packed->winograd(m).filters;
    for (int64_t o = 0; o < c.outputs; ++o) {
      transform(filter + o * 9 * c.inputs, c.inputs, plain + o * c.inputs, point);
    }
    for (int64_t f = 0; f < points; ++f) {
      microkernels::pack(t, true, plain + f * point, c.inputs, c.inputs, c.outputs, to + f * matrix);
    }
    if (bias) std::copy(bias, bias + c.outputs, to + points * matrix);
  });
  platform::release(plain);
  if (!weights.ok()) return weights.error();
  return make_in<WinogradStep>(allocator, step, node, threads, m, static_cast<PackedWeights&&>(*weights));
}

}  // namespace rushlight::xnnpack
