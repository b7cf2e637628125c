#include "backends/cpu/image.h"
#include "microkernels/dwconv/f32.h"

namespace rushlight::cpu {

namespace {

class DepthwiseConv2dStep final : public Step {
 public:
  Error bind(const schema::DepthwiseConv2d& op, Binder& binder) {
    microkernels::PackedDepthwise& c = convolution_;
    c.kernels = &binder.kernels();
    c.window = window_of(op.window());
    c.epilogue = binder.epilogue(op.epilogue());
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    RL_TRY(binder.error());
    c.channels = in_->rank == 4 ? in_->sizes[3] : 0;
    c.weights = binder.constant(op.weight(), c.window.kernel_h * c.window.kernel_w * c.channels);
    c.bias = binder.optional_constant(op.bias(), c.channels);
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
  microkernels::PackedDepthwise convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::DepthwiseConv2d& op, Binder& binder) {
  return binder.bind<DepthwiseConv2dStep>(op);
}

}  // namespace rushlight::cpu
