// Means of int8 tensors over the middle dimensions.
#include "backends/cpu/int8.h"
#include "microkernels/reduce/int8.h"

namespace rushlight::cpu {

namespace {

class Int8MeanStep final : public Step {
 public:
  Error bind(const schema::Int8Mean& op, Binder& binder) {
    mean_.zero = op.input_zero_point();
    RL_ASSIGN(mean_.range, range_of(op.range()));
    mean_.factor = op.factor();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->rank == 3 && out_->rank == 2 && in_->sizes[0] == out_->sizes[0] &&
                   in_->sizes[2] == out_->sizes[1] && in_->sizes[1] <= microkernels::Int8Mean::kMaxCount &&
                   is_dense(*in_) && is_dense(*out_),
               InvalidProgram, "the shapes or strides of the operands of an int8 mean do not match");
    mean_.outer = in_->sizes[0], mean_.count = in_->sizes[1], mean_.channels = in_->sizes[2];
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * mean_.worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    uint8_t* const scratch = reinterpret_cast<uint8_t*>(run.scratch);
    mean_.divide_for(run.workers);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, mean_.parts(), [&](int64_t worker, int64_t begin, int64_t end) {
      mean_.run(static_cast<const int8_t*>(in_->data), static_cast<uint8_t*>(out_->data), begin, end,
                scratch + static_cast<size_t>(worker) * mean_.worker_bytes());
    });
    return Error::Ok;
  }

  const char* name() const override { return "int8 mean"; }
  int64_t work() const override { return in_->numel(); }

 private:
  microkernels::Int8Mean mean_;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Mean& op, Binder& binder) { return binder.bind<Int8MeanStep>(op); }

}  // namespace rushlight::cpu
