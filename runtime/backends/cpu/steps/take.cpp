// Selects elements at indices along a dimension. The indices are known only at run time.
#include <atomic>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"
#include "core/move_bytes.h"

namespace rushlight::cpu {

namespace {

class TakeStep final : public Step {
 public:
  Error bind(const schema::Take& op, Binder& binder) {
    in_ = binder.input(op.input());
    indices_ = binder.input_of(op.indices(), ScalarType::Long);
    out_ = binder.output(op.output());
    axis_ = static_cast<int>(op.axis());
    return binder.error();
  }

  Error prepare() override {
    bool fits = in_->rank == out_->rank && indices_->rank == out_->rank && axis_ < out_->rank;
    for (int i = 0; fits && i < out_->rank; ++i) {
      fits = indices_->sizes[i] == out_->sizes[i] && (i == axis_ || in_->sizes[i] >= out_->sizes[i]);
    }
    RL_REQUIRE(fits, InvalidProgram, "the shapes of the operands of an index selection do not match");
    View from = *in_;
    for (int i = 0; i < out_->rank; ++i) from.sizes[i] = out_->sizes[i];
    from.strides[axis_] = 0;
    const View* const views[] = {out_, indices_, &from};
    loops_ = make_loops(views, 3);
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (out_->numel() == 0) return Error::Ok;
    std::atomic<bool> fits{true};
    for_workers(run.context, work() < kSerialWork ? 1 : run.workers, loops_.outer(),
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    if (!take_row(i)) fits = false;
                  }
                });
    RL_REQUIRE(fits, InvalidArgument, "an index is outside of a dimension of %lld",
               static_cast<long long>(in_->sizes[axis_]));
    return Error::Ok;
  }

  const char* name() const override { return "index select"; }
  int64_t work() const override { return out_->numel(); }

 private:
  // Copies a row. If an index is out of range, returns false and does not read that element.
  bool take_row(int64_t row) const {
    const int64_t n = loops_.inner(), stride = in_->strides[axis_], size = in_->sizes[axis_];
    const int64_t to_step = loops_.inner_stride(0), index_step = loops_.inner_stride(1);
    const int64_t from_step = loops_.inner_stride(2);
    float* const to = out_->floats() + loops_.row(0, row);
    const int64_t* const indices = static_cast<const int64_t*>(indices_->data) + loops_.row(1, row);
    const float* const from = in_->floats() + loops_.row(2, row);
    const auto is_inside = [size](int64_t index) { return static_cast<uint64_t>(index) < static_cast<uint64_t>(size); };
    if (index_step == 0) {
      if (!is_inside(*indices)) return false;
      const float* const chosen = from + *indices * stride;
      if (to_step == 1 && from_step == 1) {
        move_bytes(to, chosen, static_cast<size_t>(n) * sizeof(float));
      } else {
        for (int64_t i = 0; i < n; ++i) to[i * to_step] = chosen[i * from_step];
      }
      return true;
    }
    bool fits = true;
    for (int64_t i = 0; i < n; ++i) fits &= is_inside(indices[i * index_step]);
    if (!fits) return false;
    for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step + indices[i * index_step] * stride];
    return true;
  }

  const View* in_ = nullptr;
  const View* indices_ = nullptr;
  const View* out_ = nullptr;
  int axis_ = 0;
  Loops loops_;  // over the output, the indices, and the input at index 0
};

}  // namespace

Result<Step*> make_step(const schema::Take& op, Binder& binder) { return binder.bind<TakeStep>(op); }

}  // namespace rushlight::cpu
