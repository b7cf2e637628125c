// Softmax and normalization of rows.
#include <cmath>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

// A step over the rows of views [..., n] whose last dimension is contiguous.
class RowsStep : public Step {
 public:
  Error prepare() final {
    const int last = in_->rank - 1;
    RL_REQUIRE(in_->rank >= 1 && in_->rank == out_->rank, InvalidProgram,
               "the shapes or strides of the operands of a %s do not match", name());
    for (int i = 0; i < in_->rank; ++i) {
      RL_REQUIRE(in_->sizes[i] == out_->sizes[i], InvalidProgram,
                 "the shapes or strides of the operands of a %s do not match", name());
    }
    length_ = in_->sizes[last];
    RL_REQUIRE(fits(length_) && (length_ <= 1 || (in_->strides[last] == 1 && out_->strides[last] == 1)), InvalidProgram,
               "the rows of a %s are not contiguous", name());
    RL_REQUIRE(in_->is_uniform(0, last, &in_step_) && out_->is_uniform(0, last, &out_step_), InvalidProgram,
               "the rows of a %s are not evenly spaced", name());
    rows_ = length_ == 0 ? 0 : in_->numel() / length_;
    return Error::Ok;
  }

  Error run(Run& run) final {
    for_workers(run.context, rows_ * length_ < kSerialWork / 8 ? 1 : run.workers, rows_,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    row(in_->floats() + i * in_step_, out_->floats() + i * out_step_);
                  }
                });
    return Error::Ok;
  }

  int64_t work() const final { return 8 * rows_ * length_; }

 protected:
  ~RowsStep() = default;
  virtual bool fits(int64_t length) const = 0;
  virtual void row(const float* from, float* to) const = 0;

  const microkernels::F32Microkernels* tiles_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  int64_t length_ = 0;

 private:
  int64_t rows_ = 0, in_step_ = 0, out_step_ = 0;
};

class SoftmaxStep final : public RowsStep {
 public:
  Error bind(const schema::Softmax& op, Binder& binder) {
    logarithm_ = op.is_logarithm();
    tiles_ = &binder.tiles();
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    return binder.error();
  }
  const char* name() const override { return "softmax"; }

 private:
  bool fits(int64_t) const override { return true; }
  void row(const float* from, float* to) const override { tiles_->softmax(logarithm_, from, to, length_); }
  bool logarithm_ = false;
};

class NormalizeStep final : public RowsStep {
 public:
  Error bind(const schema::Normalize& op, Binder& binder) {
    planned_ = op.length();
    centers_ = op.subtracts_mean();
    epsilon_ = op.epsilon();
    tiles_ = &binder.tiles();
    in_ = binder.input(op.input());
    weight_ = binder.optional_constant(op.weight(), planned_);
    bias_ = binder.optional_constant(op.bias(), planned_);
    out_ = binder.output(op.output());
    return binder.error();
  }
  const char* name() const override { return "normalization"; }

 private:
  bool fits(int64_t length) const override { return length == planned_; }
  void row(const float* from, float* to) const override {
    const double n = static_cast<double>(length_);
    const float mean = centers_ ? static_cast<float>(tiles_->sum(from, length_) / n) : 0.0f;
    const double variance = tiles_->squared_deviations(from, length_, mean) / n;
    const float scale = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(epsilon_)));
    tiles_->normalize(from, to, length_, mean, scale, weight_, bias_);
  }

  int64_t planned_ = 0;
  bool centers_ = true;
  float epsilon_ = 0;
  const float* weight_ = nullptr;
  const float* bias_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Softmax& op, Binder& binder) { return binder.bind<SoftmaxStep>(op); }

Result<Step*> make_step(const schema::Normalize& op, Binder& binder) { return binder.bind<NormalizeStep>(op); }

}  // namespace rushlight::cpu
