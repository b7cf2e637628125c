// Converts 16-bit floats to float32, and float32 to 16-bit floats.
#include <algorithm>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 1024;  // elements that are converted at a time

class ConvertStep final : public Step {
 public:
  Error bind(const schema::Convert& op, Binder& binder) {
    in_ = binder.stored_input(op.input());
    const View* const out = binder.stored_input(op.output());
    RL_TRY(binder.error());
    widens_ = is_f16(in_->dtype);
    out_ = binder.output_of(op.output(), widens_ ? ScalarType::Float : out->dtype);
    RL_TRY(binder.error());
    RL_REQUIRE(widens_ || (in_->dtype == ScalarType::Float && is_f16(out_->dtype)), InvalidProgram,
               "cannot convert %s to %s", dtype_name(in_->dtype), dtype_name(out_->dtype));
    type_ = f16_type(widens_ ? in_->dtype : out_->dtype);
    return Error::Ok;
  }

  Error prepare() override {
    RL_REQUIRE(in_->has_sizes_of(*out_), InvalidProgram, "the shapes of the operands of a conversion do not match");
    const View* const views[] = {out_, in_};
    loops_ = make_loops(views, 2);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * kWorkerFloats); }

  Error run(Run& run) override {
    if (out_->numel() == 0) return Error::Ok;
    const int64_t workers = out_->numel() < kSerialWork ? 1 : run.workers;
    for_blocks(run.context, workers, loops_, kBlock, [&](int64_t worker, int64_t row, int64_t first, int64_t n) {
      convert(row, first, n, run.scratch + worker * kWorkerFloats);
    });
    return Error::Ok;
  }

  const char* name() const override { return widens_ ? "conversion to float32" : "conversion from float32"; }

 private:
  // The scratch memory of a worker: kBlock floats, then kBlock 16-bit floats.
  static constexpr int64_t kWorkerFloats = kBlock + kBlock / 2;

  // Converts n elements of a row from element `first` on. Elements that are not contiguous are first copied to, or
  // last copied from, the scratch memory.
  void convert(int64_t row, int64_t first, int64_t n, float* scratch) const {
    const microkernels::F16Microkernels& t = microkernels::f16_microkernels();
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    const int64_t to_first = loops_.row(0, row) + first * to_step, from_first = loops_.row(1, row) + first * from_step;
    uint16_t* const f16 = reinterpret_cast<uint16_t*>(scratch + kBlock);
    if (widens_) {
      const uint16_t* from = static_cast<const uint16_t*>(in_->data) + from_first;
      float* const to = out_->floats() + to_first;
      if (from_step != 1) {
        for (int64_t i = 0; i < n; ++i) f16[i] = from[i * from_step];
        from = f16;
      }
      t.widen(type_, from, n, to_step == 1 ? to : scratch);
      for (int64_t i = 0; to_step != 1 && i < n; ++i) to[i * to_step] = scratch[i];
      return;
    }
    const float* from = in_->floats() + from_first;
    uint16_t* const to = static_cast<uint16_t*>(out_->data) + to_first;
    if (from_step != 1) {
      for (int64_t i = 0; i < n; ++i) scratch[i] = from[i * from_step];
      from = scratch;
    }
    t.narrow(type_, from, n, to_step == 1 ? to : f16);
    for (int64_t i = 0; to_step != 1 && i < n; ++i) to[i * to_step] = f16[i];
  }

  bool widens_ = false;
  microkernels::F16Type type_ = microkernels::F16Type::Float16;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Convert& op, Binder& binder) { return binder.bind<ConvertStep>(op); }

}  // namespace rushlight::cpu
