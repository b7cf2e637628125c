// Depthwise convolutions of int8 images.
#include "backends/cpu/int8.h"
#include "microkernels/dwconv/int8.h"

namespace rushlight::cpu {

namespace {

using microkernels::PackedInt8Depthwise;

class Int8DepthwiseConv2dStep final : public Step {
 public:
  Error bind(const schema::Int8DepthwiseConv2d& op, Binder& binder) {
    PackedInt8Depthwise& c = convolution_;
    c.window = window_of(op.window());
    c.zero = op.input_zero_point();
    RL_ASSIGN(c.range, range_of(op.range()));
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(binder.is_arena(op.input()) && in_->rank == 4 && c.taps() <= PackedInt8Depthwise::kMaxTaps,
               InvalidProgram, "the shapes or strides of the operands of an int8 depthwise convolution do not match");
    c.channels = in_->sizes[3];
    const int8_t* const filters = binder.int8_constant(op.weight(), c.taps() * c.channels);
    c.offsets = binder.optional_constant(op.offset(), c.channels);
    c.multipliers = binder.constant(op.multiplier(), c.channels);
    uint8_t* const packed = binder.array<uint8_t>(c.packed_bytes());
    RL_TRY(binder.error());
    c.pack(filters, packed);
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == convolution_.channels && out_->sizes[3] == convolution_.channels, InvalidProgram,
               "the channels of the operands of an int8 depthwise convolution do not match");
    RL_REQUIRE(convolution_.prepare(in_->sizes, out_->sizes), InvalidProgram,
               "an int8 depthwise convolution does not support these sizes");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    uint8_t* const scratch = reinterpret_cast<uint8_t*>(run.scratch);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, convolution_.rows(), [&](int64_t worker, int64_t begin, int64_t end) {
      convolution_.run(static_cast<const int8_t*>(in_->data), static_cast<uint8_t*>(out_->data), begin, end,
                       scratch + static_cast<size_t>(worker) * worker_bytes());
    });
    return Error::Ok;
  }

  const char* name() const override { return "int8 depthwise convolution"; }
  int64_t work() const override { return 2 * out_->numel() * convolution_.taps(); }

 private:
  size_t worker_bytes() const { return convolution_.worker_bytes(out_->sizes[2]); }

  PackedInt8Depthwise convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8DepthwiseConv2d& op, Binder& binder) {
  return binder.bind<Int8DepthwiseConv2dStep>(op);
}

}  // namespace rushlight::cpu
