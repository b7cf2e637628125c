#include "kernels/optimized/pixels/depthwise.h"

#include "backends/cpu/image.h"

namespace rushlight::cpu {

namespace {

// values: input [n, h, w, c], weights [kh, kw, c], bias, output; ints: window (8), then the epilogue.
class DepthwiseStep final : public Step {
 public:
  Error bind(Binder& binder) {
    optimized::PackedDepthwise& c = convolution_;
    c.tiles = &binder.tiles();
    c.window = read_window(binder, 0);
    c.epilogue = binder.epilogue(8, 0);
    in_ = binder.input(0);
    out_ = binder.output(3);
    RL_TRY(binder.error());
    c.channels = in_->rank == 4 ? in_->sizes[3] : 0;
    c.weights = binder.constant(1, c.window.kernel_h * c.window.kernel_w * c.channels);
    c.bias = binder.optional_constant(2, c.channels);
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Image in, image_of(*in_));
    RL_ASSIGN(const Image out, image_of(*out_));
    return convolution_.prepare(in, out);
  }

  Error run(Run& run) override {
    convolution_.run(run.context, run.workers, in_->floats(), out_->floats());
    return Error::Ok;
  }

  const char* name() const override { return "depthwise convolution"; }
  int64_t work() const override { return convolution_.work(); }

 private:
  optimized::PackedDepthwise convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_depthwise(Binder& binder) {
  DepthwiseStep* step = binder.make<DepthwiseStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
