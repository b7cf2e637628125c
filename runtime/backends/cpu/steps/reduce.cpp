// Sums, means and maxima over dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"

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
    count_ = 1;
    for (int i = kept_; i < kept_ + reduced_; ++i) count_ *= in_->sizes[i];
    is_even_ = in_->is_uniform(kept_, kept_ + reduced_, &step_);
    return Error::Ok;
  }

  Error run(Run& run) override {
    const int64_t pieces = rows_ >= run.workers || columns_ < 64 ? 1 : run.workers;
    for_workers(run.context, work() < kSerialWork ? 1 : run.workers, rows_ * pieces,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t piece = i % pieces;
                    row(i / pieces, columns_ * piece / pieces, columns_ * (piece + 1) / pieces);
                  }
                });
    return Error::Ok;
  }

  const char* name() const override { return "reduction"; }
  int64_t work() const override { return rows_ * count_ * columns_; }

 private:
  static int64_t offset(const View& view, int begin, int end, int64_t index) {
    int64_t at = 0;
    for (int i = end - 1; i >= begin; --i) {
      at += index % view.sizes[i] * view.strides[i];
      index /= view.sizes[i];
    }
    return at;
  }

  void row(int64_t index, int64_t begin, int64_t end) const {
    const int64_t n = end - begin;
    if (n == 0) return;
    const float* from = in_->floats() + offset(*in_, 0, kept_, index) + begin;
    float* to = out_->floats() + offset(*out_, 0, kept_, index) + begin;
    const bool is_sum = reduction_ == Reduction::SUM || reduction_ == Reduction::MEAN;
    if (count_ == 0) {
      std::fill_n(to, n, reduction_ == Reduction::SUM ? 0.0f : std::numeric_limits<float>::quiet_NaN());
      return;
    }
    if (columns_ == 1 && is_even_ && (step_ == 1 || count_ == 1)) {
      if (!is_sum) {
        *to = kernels_->extreme(reduction_ == Reduction::MAXIMUM, from, count_);
        return;
      }
      const double sum = kernels_->sum(from, count_);
      *to = static_cast<float>(reduction_ == Reduction::MEAN ? sum / static_cast<double>(count_) : sum);
      return;
    }
    const microkernels::BinaryOp op = is_sum                             ? microkernels::BinaryOp::Add
                                      : reduction_ == Reduction::MAXIMUM ? microkernels::BinaryOp::Maximum
                                                                         : microkernels::BinaryOp::Minimum;
    std::copy_n(from, n, to);
    if (is_even_) {
      kernels_->reduce_rows(op, from + step_, step_, count_ - 1, to, n);
    } else {
      for (int64_t i = 1; i < count_; ++i) {
        kernels_->reduce_rows(op, from + offset(*in_, kept_, kept_ + reduced_, i), 0, 1, to, n);
      }
    }
    if (reduction_ == Reduction::MEAN) {
      kernels_->unary(microkernels::UnaryOp::Affine, to, to, n, 1.0f / static_cast<float>(count_), 0.0f);
    }
  }

  Reduction reduction_ = Reduction::SUM;
  int kept_ = 0, reduced_ = 0;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  int64_t rows_ = 0, columns_ = 0, count_ = 0, step_ = 0;
  bool is_even_ = false;
};

}  // namespace

Result<Step*> make_step(const schema::Reduce& op, Binder& binder) { return binder.bind<ReduceStep>(op); }

}  // namespace rushlight::cpu
