#include "backends/cpu/image.h"
#include "microkernels/conv/f32_groups.h"

namespace rushlight::cpu {

namespace {

class GroupedConv2dStep final : public Step {
 public:
  Error bind(const schema::GroupedConv2d& op, Binder& binder) {
    microkernels::PackedGroups& c = convolution_;
    c.kernels = &binder.kernels();
    c.window = window_of(op.window());
    c.epilogue = binder.epilogue(op.epilogue());
    c.groups = op.groups();
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    RL_TRY(binder.error());
    c.inputs = in_->rank == 4 ? in_->sizes[3] / c.groups : 0;
    c.outputs = out_->rank == 4 ? out_->sizes[3] : 0;
    c.weights = binder.constant(op.weight(), c.inputs * c.window.kernel_h * c.window.kernel_w * c.outputs);
    c.bias = binder.optional_constant(op.bias(), c.outputs);
    return binder.error();
  }

  Error prepare() override {
    RL_ASSIGN(const Image in, image_of(*in_));
    RL_ASSIGN(const Image out, image_of(*out_));
    return convolution_.prepare(in, out);
  }

  size_t scratch_floats(int64_t workers) const override { return convolution_.scratch_floats(workers); }

  Error run(Run& run) override {
    convolution_.run(run.context, run.workers, in_->floats(), out_->floats(), run.scratch);
    return Error::Ok;
  }

  const char* name() const override { return "grouped convolution"; }
  int64_t work() const override { return convolution_.work(); }

 private:
  microkernels::PackedGroups convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::GroupedConv2d& op, Binder& binder) { return binder.bind<GroupedConv2dStep>(op); }

}  // namespace rushlight::cpu
