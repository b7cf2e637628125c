// Sums, means and maxima over dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "microkernels/reduce/f32.h"

namespace rushlight::cpu {

namespace {

using schema::Reduction;

class ReduceStep final : public Step {
 public:
  Error bind(const schema::Reduce& op, Binder& binder) {
    reduction_ = op.reduction();
    kept_ = static_cast<int>(op.kept());
    reduced_ = static_cast<int>(op.reduced());
    kernels_ = &binder.kernels();
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    RL_REQUIRE(reduction_ == Reduction::SUM || reduction_ == Reduction::MEAN || kernels_->extreme, NotSupported,
               "this selective build has no maxima and minima over dimensions");
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->rank == kept_ + reduced_ + 1 && out_->rank == kept_ + 1, InvalidProgram,
               "the shapes or strides of the operands of a reduction do not match");
    rows_ = 1;
    for (int i = 0; i < kept_; ++i) {
      RL_REQUIRE(in_->sizes[i] == out_->sizes[i], InvalidProgram,
                 "the shapes or strides of the operands of a reduction do not match");
      rows_ *= in_->sizes[i];
    }
    columns_ = out_->sizes[kept_];
    RL_REQUIRE(in_->sizes[in_->rank - 1] == columns_ &&
                   (columns_ <= 1 || (in_->strides[in_->rank - 1] == 1 && out_->strides[kept_] == 1)),
               InvalidProgram, "the shapes or strides of the operands of a reduction do not match");
    first_of_run_ = kept_;
    while (!in_->is_uniform(first_of_run_, kept_ + reduced_, &step_)) ++first_of_run_;
    runs_ = run_ = 1;
    for (int i = kept_; i < kept_ + reduced_; ++i) (i < first_of_run_ ? runs_ : run_) *= in_->sizes[i];
    return Error::Ok;
  }

  Error run(Run& run) override {
    const int64_t pieces = rows_ >= run.workers || columns_ < 64 ? 1 : run.workers;
    for_workers(run.context, work() < kSerialWork ? 1 : run.workers, rows_ * pieces,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t piece = i % pieces;
                    reduce_row(i / pieces, columns_ * piece / pieces, columns_ * (piece + 1) / pieces);
                  }
                });
    return Error::Ok;
  }

  const char* name() const override { return "reduction"; }
  int64_t work() const override { return rows_ * runs_ * run_ * columns_; }

 private:
  bool is_sum() const { return reduction_ == Reduction::SUM || reduction_ == Reduction::MEAN; }

  // Computes columns [begin, end) of a row of the result.
  void reduce_row(int64_t index, int64_t begin, int64_t end) const {
    const float* from = in_->floats() + in_->offset_of(index, 0, kept_) + begin;
    float* to = out_->floats() + out_->offset_of(index, 0, kept_) + begin;
    const int64_t n = end - begin, count = runs_ * run_;
    if (n == 0) return;
    if (count == 0) {
      std::fill_n(to, n, reduction_ == Reduction::SUM ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    } else if (columns_ == 1 && (step_ == 1 || run_ == 1) && (is_sum() || runs_ == 1)) {
      reduce_contiguous(from, to);
    } else {
      for (int64_t j = 0; j < n; j += kColumns) reduce_columns(from + j, to + j, std::min(kColumns, n - j));
      if (reduction_ == Reduction::MEAN) {
        kernels_->unary(microkernels::UnaryOp::Affine, to, to, n, 1.0f / static_cast<float>(count), 0.0f);
      }
    }
  }

  // Returns the first element of a run.
  const float* run_at(const float* from, int64_t run) const { return from + in_->offset_of(run, kept_, first_of_run_); }

  // Reduces contiguous runs of a single column.
  void reduce_contiguous(const float* from, float* to) const {
    if (!is_sum()) {
      *to = kernels_->extreme(reduction_ == Reduction::MAXIMUM, from, run_);
      return;
    }
    double sum = 0;
    for (int64_t i = 0; i < runs_; ++i) sum += kernels_->sum(run_at(from, i), run_);
    *to = static_cast<float>(reduction_ == Reduction::MEAN ? sum / static_cast<double>(runs_ * run_) : sum);
  }

  // Reduces n <= kColumns columns. A mean is not yet divided.
  void reduce_columns(const float* from, float* to, int64_t n) const {
    const microkernels::BinaryOp op = is_sum()                           ? microkernels::BinaryOp::Add
                                      : reduction_ == Reduction::MAXIMUM ? microkernels::BinaryOp::Maximum
                                                                         : microkernels::BinaryOp::Minimum;
    float run_result[kColumns];
    for (int64_t i = 0; i < runs_; ++i) {
      const float* const x = run_at(from, i);
      float* const result = i == 0 ? to : run_result;
      if (is_sum()) {
        microkernels::sum_rows(*kernels_, x, step_, run_, result, n);
      } else {
        std::copy_n(x, n, result);
        kernels_->reduce_rows(op, x + step_, step_, run_ - 1, result, n);
      }
      if (i > 0) kernels_->reduce_rows(op, run_result, 0, 1, to, n);
    }
  }

  static constexpr int64_t kColumns = 512;

  Reduction reduction_ = Reduction::SUM;
  int kept_ = 0, reduced_ = 0;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  // The reduced elements are `runs_` runs of `run_` elements, which are `step_` floats apart. Dimension first_of_run_
  // is the first of a run.
  int64_t runs_ = 0, run_ = 0, step_ = 0;
  int first_of_run_ = 0;
};

}  // namespace

Result<Step*> make_step(const schema::Reduce& op, Binder& binder) { return binder.bind<ReduceStep>(op); }

}  // namespace rushlight::cpu
