#include "kernels/optimized/pixels/winograd.h"

#include "backends/cpu/image.h"

namespace rushlight::cpu {

namespace {

// Weights of 16 bits that are transformed at once.
constexpr int64_t kPiece = 256;
constexpr int64_t kMostPoints = 36;

// values: input [n, h, w, c], weights, bias, residual, more inputs (or none) whose channels follow the first's, output
// [n, h, w, o]; ints: m (2 to 4), padding above and left, channels, outputs, then the epilogue, 1 if weights are as
// they were, and the stride, 1 if it is left out. Weights are packed matrices, one for each point; as they were, at
// stride 1, nine of [channels, outputs], and transformed when the plan is loaded.
class WinogradStep final : public Step {
 public:
  Error bind(Binder& binder) {
    optimized::PackedWinograd& c = convolution_;
    c.tiles = &binder.tiles();
    c.m = binder.integer(0, 2, 4);
    c.pad_h = binder.integer(1, 0, 2);
    c.pad_w = binder.integer(2, 0, 2);
    c.channels = binder.integer(3, 1, 1 << 24);
    c.outputs = binder.integer(4, 1, 1 << 24);
    c.epilogue = binder.epilogue(5, 0);
    const bool transforms = binder.int_count() > 7 && binder.integer(7, 0, 1) != 0;
    c.stride = binder.int_count() > 8 ? binder.integer(8, 1, 2) : 1;
    RL_REQUIRE(c.stride == 1 || (c.m == 2 && !transforms), InvalidProgram,
               "a Winograd convolution has tiles of %lld at stride %lld", static_cast<long long>(c.m),
               static_cast<long long>(c.stride));
    RL_TRY(in_.bind(binder));
    if (transforms) {
      c.weights = transformed(binder);
    } else {
      int64_t terms[kMostPoints];
      for (int64_t i = 0; i < c.points(); ++i) terms[i] = c.terms(i);
      c.weights = binder.packed(1, c.points(), c.channels, c.outputs, terms);
    }
    c.bias = binder.optional_constant(2, round_up(c.outputs, 64));
    residual_ = binder.optional_input(3);
    out_ = binder.output(SourceViews::output(binder));
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
  // Null if the binder refuses.
  const float* transformed(Binder& binder) const {
    const optimized::PackedWinograd& c = convolution_;
    const optimized::PackedWeights taps = binder.packed_weights(1, 9, c.channels, c.outputs);
    if (taps.floats == nullptr && taps.halves == nullptr) return nullptr;
    const int64_t matrix = c.channels * packing_of(*c.tiles).columns(c.outputs);
    float* weights = binder.array<float>(static_cast<size_t>(c.points() * matrix));
    if (weights == nullptr) return nullptr;
    const auto transform = c.tiles->packed->winograd(c.m).filters;
    // A matrix is one row to the transform: it does not matter how it is packed.
    if (taps.floats) {
      transform(taps.floats, matrix, weights, matrix);
      return weights;
    }
    alignas(64) float widened[9 * kPiece];
    for (int64_t first = 0; first < matrix; first += kPiece) {
      const int64_t count = std::min(kPiece, matrix - first);
      for (int64_t tap = 0; tap < 9; ++tap) {
        const uint16_t* const from = taps.halves + tap * matrix + first;
        tiles::half_tiles().widen(taps.type, from, count, widened + tap * count);
      }
      transform(widened, count, weights + first, matrix);
    }
    return weights;
  }

  optimized::PackedWinograd convolution_;
  SourceViews in_;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_winograd(Binder& binder) {
  WinogradStep* step = binder.make<WinogradStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
