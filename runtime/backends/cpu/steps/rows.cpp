// Softmax and normalization of rows.
#include <algorithm>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

// A step over the rows of views [..., n] whose last dimension is contiguous.
class RowsStep : public Step {
 public:
  Error prepare() final {
    const int last = in_->rank - 1;
    RL_REQUIRE(in_->rank >= 1 && in_->has_sizes_of(*out_), InvalidProgram,
               "the shapes of the operands of a %s do not match", name());
    length_ = in_->sizes[last];
    RL_REQUIRE(fits(length_) && (length_ <= 1 || (in_->strides[last] == 1 && out_->strides[last] == 1)), InvalidProgram,
               "the rows of a %s are not contiguous", name());
    runs_end_ = 0;
    while (!in_->is_uniform(runs_end_, last, &in_step_) || !out_->is_uniform(runs_end_, last, &out_step_)) ++runs_end_;
    rows_ = length_ == 0 ? 0 : in_->numel() / length_;
    run_length_ = 1;
    for (int i = runs_end_; i < last; ++i) run_length_ *= in_->sizes[i];
    return Error::Ok;
  }

  Error run(Run& run) final {
    for_workers(run.context, rows_ * length_ < kSerialWork / 8 ? 1 : run.workers, rows_,
                [&](int64_t, int64_t begin, int64_t end) {
                  while (begin < end) {
                    const int64_t first = begin % run_length_;
                    const int64_t count = std::min(end - begin, run_length_ - first);
                    compute(start_of(*in_, begin / run_length_) + first * in_step_,
                            start_of(*out_, begin / run_length_) + first * out_step_, count);
                    begin += count;
                  }
                });
    return Error::Ok;
  }

  int64_t work() const final { return 8 * rows_ * length_; }

 protected:
  ~RowsStep() = default;
  // Returns whether the step supports rows of this length.
  virtual bool fits(int64_t length) const = 0;
  // Computes `count` rows of the result. Their first elements are in_step_ floats apart in `from`, and out_step_ in
  // `to`.
  virtual void compute(const float* from, float* to, int64_t count) const = 0;

  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  int64_t length_ = 0, in_step_ = 0, out_step_ = 0;

 private:
  // Returns the first element of a run of evenly spaced rows.
  float* start_of(const View& view, int64_t run) const { return view.floats() + view.offset_of(run, 0, runs_end_); }

  // The rows of dimensions [runs_end_, rank - 1) are evenly spaced in both views. They form a run of `run_length_`
  // rows.
  int runs_end_ = 0;
  int64_t rows_ = 0, run_length_ = 1;
};

class SoftmaxStep final : public RowsStep {
 public:
  Error bind(const schema::Softmax& op, Binder& binder) {
    is_logarithm_ = op.is_logarithm();
    kernels_ = &binder.kernels();
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    return binder.error();
  }
  const char* name() const override { return "softmax"; }

 private:
  bool fits(int64_t) const override { return true; }
  void compute(const float* from, float* to, int64_t count) const override {
    for (int64_t i = 0; i < count; ++i, from += in_step_, to += out_step_) {
      kernels_->softmax(is_logarithm_, from, to, length_);
    }
  }
  bool is_logarithm_ = false;
};

class NormalizeStep final : public RowsStep {
 public:
  Error bind(const schema::Normalize& op, Binder& binder) {
    planned_length_ = op.length();
    subtracts_mean_ = op.subtracts_mean();
    epsilon_ = op.epsilon();
    divides_by_norm_ = op.divides_by_norm();
    kernels_ = &binder.kernels();
    in_ = binder.input(op.input());
    weight_ = binder.optional_constant(op.weight(), planned_length_);
    bias_ = binder.optional_constant(op.bias(), planned_length_);
    out_ = binder.output(op.output());
    RL_REQUIRE(!divides_by_norm_ || (!subtracts_mean_ && !weight_ && !bias_), InvalidProgram,
               "a division by norms has a mean, a weight or a bias");
    return binder.error();
  }
  const char* name() const override { return "normalization"; }

 private:
  bool fits(int64_t length) const override { return length == planned_length_; }
  void compute(const float* from, float* to, int64_t count) const override {
    if (divides_by_norm_) return kernels_->divide_by_norms(from, in_step_, to, out_step_, count, length_, epsilon_);
    microkernels::NormalizedRows rows;
    rows.x = from, rows.x_step = in_step_;
    rows.y = to, rows.y_step = out_step_;
    rows.rows = count, rows.n = length_;
    rows.subtracts_mean = subtracts_mean_, rows.epsilon = static_cast<double>(epsilon_);
    rows.weight = weight_, rows.bias = bias_;
    kernels_->normalize_rows(rows);
  }

  int64_t planned_length_ = 0;
  bool subtracts_mean_ = true, divides_by_norm_ = false;
  float epsilon_ = 0;
  const float* weight_ = nullptr;
  const float* bias_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Softmax& op, Binder& binder) { return binder.bind<SoftmaxStep>(op); }

Result<Step*> make_step(const schema::Normalize& op, Binder& binder) { return binder.bind<NormalizeStep>(op); }

}  // namespace rushlight::cpu
