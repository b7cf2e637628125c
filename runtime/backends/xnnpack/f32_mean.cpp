// Means over the pixels of channels-last float32 images.
#include <algorithm>

#include "backends/xnnpack/f32_step.h"
#include "microkernels/reduce/f32.h"

namespace rushlight::xnnpack {
namespace {

constexpr int64_t kGrain = 1 << 14;  // fewest elements for each thread

class MeanStep final : public ThreadedStep {
 public:
  using ThreadedStep::ThreadedStep;

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    const Shape& in = operands[node_.inputs[0]].shape;
    batch_ = in[0];
    pixels_ = in[1] * in[2];
    channels_ = in[3];
    in_ = static_cast<const float*>(operands[node_.inputs[0]].data);
    out_ = static_cast<float*>(operands[node_.output].data);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const int64_t grain = (kGrain + pixels_ - 1) / pixels_;
    for (int64_t image = 0; image < batch_; ++image) {
      const float* from = in_ + image * pixels_ * channels_;
      float* to = out_ + image * channels_;
      share(
          context, channels_,
          [&](int64_t, int64_t begin, int64_t end) {
            microkernels::sum_rows(microkernels::f32_microkernels(), from + begin, channels_, pixels_, to + begin,
                                   end - begin);
            for (int64_t c = begin; c < end; ++c) to[c] = bounded(to[c] / static_cast<float>(pixels_));
          },
          grain);
    }
    return Error::Ok;
  }

 private:
  float bounded(float value) const {
    if (!node_.has_bounds) return value;
    return value < node_.min ? node_.min : value > node_.max ? node_.max : value;
  }

  int64_t batch_ = 0, pixels_ = 0, channels_ = 0;
  const float* in_ = nullptr;
  float* out_ = nullptr;
};

}  // namespace

Error make_mean_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator, Step** step) {
  const bool is_float =
      graph.values[node.inputs[0]].dtype == ScalarType::Float && graph.values[node.output].dtype == ScalarType::Float;
  return is_float ? make_in<MeanStep>(allocator, step, node, threads) : Error::Ok;
}

}  // namespace rushlight::xnnpack
