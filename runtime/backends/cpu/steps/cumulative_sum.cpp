// Cumulative sums along a dimension.
#include <algorithm>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

// The numbers of sums that are computed at the same time: over columns whose first elements are contiguous, and over
// other rows. In each row or column, a sum depends on the previous sum.
constexpr int64_t kColumns = 256, kRows = 8;

class CumulativeSumStep final : public Step {
 public:
  Error bind(const schema::CumulativeSum& op, Binder& binder) {
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    axis_ = static_cast<int>(op.axis());
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->has_sizes_of(*out_) && axis_ < out_->rank, InvalidProgram,
               "the shapes of the operands of a cumulative sum do not match");
    View first_out = *out_, first_in = *in_;
    first_out.sizes[axis_] = first_in.sizes[axis_] = 1;
    const View* const views[] = {&first_out, &first_in};
    loops_ = make_loops(views, 2);
    block_ = loops_.inner_stride(1) == 1 ? kColumns : kRows;
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (out_->numel() == 0) return Error::Ok;
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_blocks(run.context, workers, loops_, block_,
               [&](int64_t, int64_t row, int64_t first, int64_t n) { add(row, first, n); });
    return Error::Ok;
  }

  const char* name() const override { return "cumulative sum"; }
  int64_t work() const override { return out_->numel(); }

 private:
  // Computes n sums along the axis, which begin at elements [first, first + n) of a row of the loops.
  void add(int64_t row, int64_t first, int64_t n) const {
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    const int64_t next = out_->strides[axis_], next_from = in_->strides[axis_], length = out_->sizes[axis_];
    float* const first_to = out_->floats() + loops_.row(0, row) + first * to_step;
    const float* const first_from = in_->floats() + loops_.row(1, row) + first * from_step;
    double sums[kColumns] = {};
    if (to_step == 1 && from_step == 1) {
      for (int64_t i = 0; i < length; ++i) add_next(sums, first_from + i * next_from, first_to + i * next, n);
      return;
    }
    for (int64_t i = 0; i < length; ++i) {
      const float* const from = first_from + i * next_from;
      float* const to = first_to + i * next;
      for (int64_t j = 0; j < n; ++j) {
        sums[j] += static_cast<double>(from[j * from_step]);
        to[j * to_step] = static_cast<float>(sums[j]);
      }
    }
  }
  // `from` and `to` are either equal or do not overlap.
  static void add_next(double* __restrict sums, const float* from, float* to, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      sums[j] += static_cast<double>(from[j]);
      to[j] = static_cast<float>(sums[j]);
    }
  }

  const View* in_ = nullptr;
  const View* out_ = nullptr;
  int axis_ = 0;
  int64_t block_ = kColumns;
  Loops loops_;  // over the first elements along the axis
};

}  // namespace

Result<Step*> make_step(const schema::CumulativeSum& op, Binder& binder) { return binder.bind<CumulativeSumStep>(op); }

}  // namespace rushlight::cpu
