// Means of int8 over the dimensions between the others.
#include <algorithm>
#include <cstring>

#include "backends/cpu/int8.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMostNumbers = 1 << 22;  // whose sum has 32 bits

class Int8MeanStep final : public Step {
 public:
  Error bind(const schema::Int8Mean& op, Binder& binder) {
    zero_ = op.input_zero_point();
    RL_ASSIGN(range_, range_of(op.range()));
    ratio_ = op.factor();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->rank == 3 && out_->rank == 2 && in_->sizes[0] == out_->sizes[0] &&
                   in_->sizes[2] == out_->sizes[1] && in_->sizes[1] <= kMostNumbers && is_dense(*in_) &&
                   is_dense(*out_),
               InvalidProgram, "operands of an 8-bit mean do not fit");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t count = in_->sizes[1], channels = in_->sizes[2];
    const int64_t pieces = in_->sizes[0] >= run.workers || channels < 64 ? 1 : run.workers;
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, in_->sizes[0] * pieces, [&](int64_t worker, int64_t begin, int64_t end) {
      int32_t* const sums = reinterpret_cast<int32_t*>(run.scratch + worker * worker_floats());
      int32_t* const corrections = sums + channels;
      float* const multipliers = reinterpret_cast<float*>(corrections + channels);
      std::fill_n(corrections, channels, static_cast<int32_t>(-zero_ * count));
      std::fill_n(multipliers, channels, ratio_ / static_cast<float>(std::max<int64_t>(count, 1)));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / pieces, piece = i % pieces;
        const int64_t first = channels * piece / pieces, n = channels * (piece + 1) / pieces - first;
        std::memset(sums, 0, static_cast<size_t>(n) * sizeof(int32_t));
        t.loops.add_rows(static_cast<const int8_t*>(in_->data) + row * count * channels + first, count, channels, n,
                         sums);
        t.requantize({corrections, multipliers, nullptr, range_.zero, range_.least, range_.most}, {sums, n, 1, n, n},
                     static_cast<uint8_t*>(out_->data) + row * channels + first);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "8-bit mean"; }
  int64_t work() const override { return in_->numel(); }

 private:
  int64_t worker_floats() const { return round_up(3 * in_->sizes[2], 16); }

  int32_t zero_ = 0;
  microkernels::Int8Range range_{};
  float ratio_ = 1;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Mean& op, Binder& binder) { return binder.bind<Int8MeanStep>(op); }

}  // namespace rushlight::cpu
