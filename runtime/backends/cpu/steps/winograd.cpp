#include "backends/cpu/image.h"
#include "microkernels/winograd/f32.h"

namespace rushlight::cpu {

namespace {

// The number of 16-bit weights that are converted to float32 and transformed at a time.
constexpr int64_t kPiece = 256;
constexpr int64_t kMaxPoints = 36;

class WinogradStep final : public Step {
 public:
  Error bind(const schema::Winograd& op, Binder& binder) {
    microkernels::PackedWinograd& c = convolution_;
    c.kernels = &binder.kernels();
    c.m = op.m();
    c.pad_h = op.pad_h();
    c.pad_w = op.pad_w();
    c.groups = op.groups();
    c.channels = op.channels();
    c.outputs = op.outputs();
    c.epilogue = binder.epilogue(op.epilogue());
    c.stride = op.stride();
    RL_REQUIRE(c.stride == 1 || (c.m == 2 && !op.transforms_weight()), InvalidProgram,
               "a Winograd convolution does not support tiles of %lld outputs with a stride of %lld",
               static_cast<long long>(c.m), static_cast<long long>(c.stride));
    RL_TRY(in_.bind(binder, op.input(), op.more_inputs()));
    if (op.transforms_weight()) {
      c.weights = transformed(op, binder);
    } else {
      int64_t terms[kMaxPoints];
      for (int64_t i = 0; i < c.points(); ++i) terms[i] = c.terms(i);
      c.weights = binder.packed_points(op.weight(), c.points(), terms, c.groups, c.channels, c.outputs);
    }
    c.bias = binder.packed_bias(op.bias(), 1, c.groups * c.outputs);
    residual_ = binder.optional_input(op.residual());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Sources in, in_.images());
    RL_ASSIGN(const Image out, image_of(*out_));
    if (residual_ == nullptr) return convolution_.prepare(in, out, nullptr);
    RL_ASSIGN(const Image residual, image_of(*residual_));
    return convolution_.prepare(in, out, &residual);
  }

  size_t scratch_floats(int64_t workers) const override { return convolution_.scratch_floats(workers); }

  Error run(Run& run) override {
    convolution_.run(run.context, run.workers, in_.data(), out_->floats(), residual_ ? residual_->floats() : nullptr,
                     run.scratch);
    return Error::Ok;
  }

  const char* name() const override {
    if (convolution_.stride == 2) return "Winograd, stride 2";
    static constexpr const char* kNames[] = {"Winograd convolution F2", "Winograd convolution F3",
                                             "Winograd convolution F4"};
    return kNames[convolution_.m - 2];
  }
  int64_t work() const override { return convolution_.work(); }

 private:
  // Returns the transformed weights. Returns null if the binder has an error.
  const float* transformed(const schema::Winograd& op, Binder& binder) const {
    const microkernels::PackedWinograd& c = convolution_;
    const microkernels::PackedWeights taps = binder.packed_weights(op.weight(), 9 * c.groups, c.channels, c.outputs);
    if (taps.floats == nullptr && taps.f16 == nullptr) return nullptr;
    const int64_t matrix = c.groups * c.channels * packing_of(*c.kernels).columns(c.outputs);  // floats of one point
    float* weights = binder.array<float>(static_cast<size_t>(c.points() * matrix));
    if (weights == nullptr) return nullptr;
    const auto transform = c.kernels->packed->winograd(c.m).filters;
    // The transform treats the matrices of a point as one row, so the packing does not matter.
    if (taps.floats) {
      transform(taps.floats, matrix, weights, matrix);
      return weights;
    }
    alignas(64) float widened[9 * kPiece];
    for (int64_t first = 0; first < matrix; first += kPiece) {
      const int64_t count = std::min(kPiece, matrix - first);
      for (int64_t tap = 0; tap < 9; ++tap) {
        const uint16_t* const from = taps.f16 + tap * matrix + first;
        microkernels::f16_microkernels().widen(taps.type, from, count, widened + tap * count);
      }
      transform(widened, count, weights + first, matrix);
    }
    return weights;
  }

  microkernels::PackedWinograd convolution_;
  SourceViews in_;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Winograd& op, Binder& binder) { return binder.bind<WinogradStep>(op); }

}  // namespace rushlight::cpu
