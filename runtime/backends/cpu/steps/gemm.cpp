#include "backends/cpu/image.h"
#include "microkernels/conv/f32.h"

namespace rushlight::cpu {

namespace {

class GemmStep final : public Step {
 public:
  Error bind(const schema::Gemm& op, Binder& binder) {
    microkernels::PackedConvolution& c = convolution_;
    c.kernels = &binder.kernels();
    c.window = window_of(op.window());
    c.groups = op.groups();
    c.channels = op.channels();
    c.outputs = op.outputs();
    c.epilogue = binder.epilogue(op.epilogue());
    c.rounds = op.rounds_input();
    c.prologue.applies = op.has_prologue();
    if (c.prologue.applies) {
      RL_REQUIRE(microkernels::kHasPrologue, NotSupported,
                 "this selective build has no matrix products and convolutions with a prologue");
      c.prologue.rows.low = op.prologue().low();
      c.prologue.rows.high = op.prologue().high();
      scale_ = binder.optional_input(op.prologue_scale());
      shift_ = binder.optional_input(op.prologue_shift());
    }
    RL_TRY(in_.bind(binder, op.input(), op.more_inputs()));
    c.weights =
        binder.packed_weights(op.weight(), c.groups, c.window.kernel_h * c.window.kernel_w * c.channels, c.outputs);
    if (const int64_t count = c.weights.floats ? c.dot_floats() : 0; count > 0) {
      if (float* const items = binder.array<float>(static_cast<size_t>(count))) c.set_dot_weights(items);
    }
    c.bias = binder.packed_bias(op.bias(), c.groups, c.outputs);
    residual_ = binder.optional_input(op.residual());
    out_ = binder.output(op.output());
    c.zeros = padding_pixel(binder, c.groups * c.channels);
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Sources in, in_.images());
    RL_ASSIGN(const Image out, image_of(*out_));
    RL_TRY(find_image_stride(scale_, in, &convolution_.prologue.scale_step));
    RL_TRY(find_image_stride(shift_, in, &convolution_.prologue.shift_step));
    if (residual_ == nullptr) return convolution_.prepare(in, out, nullptr);
    RL_ASSIGN(const Image residual, image_of(*residual_));
    return convolution_.prepare(in, out, &residual);
  }

  size_t scratch_floats(int64_t workers) const override { return convolution_.scratch_floats(workers); }

  Error run(Run& run) override {
    convolution_.prologue.rows.scale = scale_ ? scale_->floats() : nullptr;
    convolution_.prologue.rows.shift = shift_ ? shift_->floats() : nullptr;
    convolution_.run(run.context, run.workers, in_.data(), out_->floats(), residual_ ? residual_->floats() : nullptr,
                     run.scratch, run.next);
    return Error::Ok;
  }
  microkernels::FirstWeights first_weights(int64_t workers) const override {
    return convolution_.first_weights(workers);
  }

  const char* name() const override {
    return convolution_.window.kernel_h * convolution_.window.kernel_w > 1 ? "convolution" : "GEMM";
  }
  int64_t work() const override { return convolution_.work(); }

 private:
  // Sets `stride` to the distance between the images of a tensor with one number for each channel of an image. Does
  // nothing if `view` is null.
  static Error find_image_stride(const View* view, const Sources& in, int64_t* stride) {
    if (view == nullptr) return Error::Ok;
    RL_ASSIGN(const Image image, image_of(*view));
    const bool fits = std::equal(image.sizes, image.sizes + 4, in.images[0].sizes) && image.has_channels_last() &&
                      (image.sizes[1] == 1 || image.strides[1] == 0) && (image.sizes[2] == 1 || image.strides[2] == 0);
    RL_REQUIRE(fits, InvalidProgram, "the shape of a prologue's scale or shift does not match the input of the GEMM");
    *stride = image.strides[0];
    return Error::Ok;
  }

  microkernels::PackedConvolution convolution_;
  SourceViews in_;
  const View *scale_ = nullptr, *shift_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Gemm& op, Binder& binder) { return binder.bind<GemmStep>(op); }

}  // namespace rushlight::cpu
