// Pooling of channels-last int8 images.
#include "backends/cpu/int8.h"
#include "microkernels/pool/int8.h"

namespace rushlight::cpu {

namespace {

class Int8Pool2dStep final : public Step {
 public:
  Error bind(const schema::Int8Pool2d& op, Binder& binder) {
    const schema::Pooling pooling = op.pooling();
    pool_.window = window_of(pooling.window());
    pool_.is_maximum = pooling.is_maximum();
    pool_.divisor = pooling.divisor();
    pool_.counts_padding = pooling.counts_padding();
    pool_.zero = op.input_zero_point();
    RL_ASSIGN(pool_.range, range_of(op.range()));
    pool_.factor = op.factor();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(pool_.taps() <= microkernels::Int8Pool2d::kMaxTaps, InvalidProgram,
               "the window of an int8 pooling is too large");
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == out_->sizes[3], InvalidProgram,
               "the shapes or strides of the operands of a pooling do not match");
    pool_.prepare(in_->sizes, out_->sizes);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * pool_.worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    uint8_t* const scratch = reinterpret_cast<uint8_t*>(run.scratch);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, pool_.rows(), [&](int64_t worker, int64_t begin, int64_t end) {
      pool_.run(static_cast<const int8_t*>(in_->data), static_cast<int8_t*>(out_->data), begin, end,
                scratch + static_cast<size_t>(worker) * pool_.worker_bytes());
    });
    return Error::Ok;
  }

  const char* name() const override { return "int8 pooling"; }
  int64_t work() const override { return out_->numel() * pool_.taps(); }

 private:
  microkernels::Int8Pool2d pool_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Pool2d& op, Binder& binder) { return binder.bind<Int8Pool2dStep>(op); }

}  // namespace rushlight::cpu
