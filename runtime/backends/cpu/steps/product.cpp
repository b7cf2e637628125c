#include "backends/cpu/image.h"
#include "kernels/optimized/pixels/convolution.h"

namespace rushlight::cpu {

namespace {

// values: input [n, h, w, c], weights, bias, residual, with a prologue its scale and shift [n, h, w, c] (or none), the
// same for all pixels of an image, more inputs (or none) whose channels follow the first's, output [n, h, w, o]; ints:
// window (8), groups, channels of a group, outputs of a group, then the epilogue, and 1 if the input may be rounded to
// the type of the weights, then 1 for a prologue and 2 for one that clamps; the last two are 0 if they are left out;
// floats: the epilogue's, then bounds of the prologue.
class ProductStep final : public Step {
 public:
  Error bind(Binder& binder) {
    optimized::PackedConvolution& c = convolution_;
    c.tiles = &binder.tiles();
    c.window = read_window(binder, 0);
    c.groups = binder.integer(8, 1, 1 << 20);
    c.channels = binder.integer(9, 1, 1 << 24);
    c.outputs = binder.integer(10, 1, 1 << 24);
    c.epilogue = binder.epilogue(11, 0);
    c.rounds = binder.int_count() > 13 && binder.integer(13, 0, 1) != 0;
    const int64_t prologue = binder.int_count() > 14 ? binder.integer(14, 0, 2) : 0;
    c.prologue.applies = prologue > 0;
    if (prologue == 2) {
      c.prologue.numbers.low = binder.number(4);
      c.prologue.numbers.high = binder.number(5);
    }
    if (c.prologue.applies) {
      scale_ = binder.optional_input(4);
      shift_ = binder.optional_input(5);
    }
    RL_TRY(in_.bind(binder, c.prologue.applies ? 6 : 4));
    c.weights = binder.packed_weights(1, c.groups, c.window.kernel_h * c.window.kernel_w * c.channels, c.outputs);
    c.bias = binder.optional_constant(2, round_up(c.groups * c.outputs, 64));
    residual_ = binder.optional_input(3);
    out_ = binder.output(SourceViews::output(binder));
    c.zeros = zeros(binder, c.channels + 16);
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Sources in, in_.images());
    RL_ASSIGN(const Image out, image_of(*out_));
    RL_TRY(find_step(scale_, in, &convolution_.prologue.scale_step));
    RL_TRY(find_step(shift_, in, &convolution_.prologue.shift_step));
    if (residual_ == nullptr) return convolution_.prepare(in, out, nullptr);
    RL_ASSIGN(const Image residual, image_of(*residual_));
    return convolution_.prepare(in, out, &residual);
  }

  size_t scratch_floats(int64_t workers) const override { return convolution_.scratch_floats(workers); }

  Error run(Run& run) override {
    convolution_.prologue.numbers.scale = scale_ ? scale_->floats() : nullptr;
    convolution_.prologue.numbers.shift = shift_ ? shift_->floats() : nullptr;
    convolution_.run(run.context, run.workers, in_.data(), out_->floats(), residual_ ? residual_->floats() : nullptr,
                     run.scratch, run.next);
    return Error::Ok;
  }
  optimized::FirstWeights first_weights(int64_t workers) const override { return convolution_.first_weights(workers); }

  const char* name() const override {
    return convolution_.window.kernel_h * convolution_.window.kernel_w > 1 ? "convolution" : "product";
  }
  int64_t work() const override { return convolution_.work(); }

 private:
  // From image to image of a number by channel.
  static Error find_step(const View* view, const Sources& in, int64_t* step) {
    if (view == nullptr) return Error::Ok;
    RL_ASSIGN(const Image image, image_of(*view));
    const bool fits = std::equal(image.sizes, image.sizes + 4, in.images[0].sizes) && image.has_channels_last() &&
                      (image.sizes[1] == 1 || image.strides[1] == 0) && (image.sizes[2] == 1 || image.strides[2] == 0);
    RL_REQUIRE(fits, InvalidProgram, "the prologue of a product does not fit its input");
    *step = image.strides[0];
    return Error::Ok;
  }

  optimized::PackedConvolution convolution_;
  SourceViews in_;
  const View *scale_ = nullptr, *shift_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_product(Binder& binder) {
  ProductStep* step = binder.make<ProductStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
