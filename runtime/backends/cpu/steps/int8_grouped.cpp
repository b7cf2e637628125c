// Grouped convolutions of int8 images with few channels in each group.
#include "backends/cpu/int8.h"
#include "microkernels/conv/int8_groups.h"

namespace rushlight::cpu {

namespace {

using microkernels::PackedInt8Groups;

class Int8GroupedConv2dStep final : public Step {
 public:
  Error bind(const schema::Int8GroupedConv2d& op, Binder& binder) {
    PackedInt8Groups& c = convolution_;
    c.window = window_of(op.window());
    c.size = op.channels();
    c.zero = op.input_zero_point();
    RL_ASSIGN(c.range, range_of(op.range()));
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(in_->rank == 4 && (c.size == 4 || c.size == 8 || c.size == 16) && in_->sizes[3] % c.size == 0 &&
                   c.window.taps() <= PackedInt8Groups::kMaxTaps,
               InvalidProgram, "an int8 convolution does not support groups of %lld channels or %lld taps",
               static_cast<long long>(c.size), static_cast<long long>(c.window.taps()));
    c.channels = in_->sizes[3];
    const int8_t* const filters = binder.int8_constant(op.weight(), c.channels * c.window.taps() * c.size);
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
               "the channels of the operands of an int8 grouped convolution do not match");
    RL_REQUIRE(convolution_.prepare(in_->sizes, out_->sizes), InvalidProgram,
               "the lines of an int8 grouped convolution are too long");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * convolution_.worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    PackedInt8Groups::Operands operands;
    operands.in = in_->data, operands.in_mask = in_->sign_mask;
    operands.out = out_->data, operands.out_mask = out_->sign_mask;
    convolution_.run(run.context, run.workers, operands, run.scratch);
    return Error::Ok;
  }

  const char* name() const override { return "int8 grouped convolution"; }
  bool supports_unsigned(const View& view) const override {
    return convolution_.kernels->lhs_offset == 0x80 && (&view == in_ || &view == out_);
  }
  int64_t work() const override { return convolution_.work(); }

 private:
  PackedInt8Groups convolution_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8GroupedConv2d& op, Binder& binder) {
  return binder.bind<Int8GroupedConv2dStep>(op);
}

}  // namespace rushlight::cpu
