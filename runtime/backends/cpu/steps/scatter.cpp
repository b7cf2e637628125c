// Writes slices of a tensor at indices that are known only at run time.
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

class ScatterStep final : public Step {
 public:
  Error bind(const schema::Scatter& op, Binder& binder) {
    source_ = binder.any_input(op.source());
    places_ = binder.any_input(op.indices());
    target_ = binder.any_output(op.output());
    axis_ = static_cast<int>(op.axis());
    adds_ = op.adds();
    RL_TRY(binder.error());
    RL_REQUIRE(!adds_ || target_->dtype == ScalarType::Float, InvalidProgram,
               "a scatter with addition supports only float32");
    RL_REQUIRE(source_->dtype == target_->dtype && places_->dtype == ScalarType::Long, InvalidProgram,
               "the operands of a scatter have unsupported dtypes");
    return Error::Ok;
  }

  Error prepare() override {
    bool fits = source_->rank == target_->rank && axis_ < target_->rank && places_->rank == 1 &&
                places_->sizes[0] == source_->sizes[axis_];
    for (int i = 0; fits && i < target_->rank; ++i) fits = i == axis_ || source_->sizes[i] == target_->sizes[i];
    RL_REQUIRE(fits, InvalidProgram, "the shapes or strides of the operands of a scatter do not match");
    to_ = *target_;
    from_ = *source_;
    to_.sizes[axis_] = from_.sizes[axis_] = 1;
    const View* const views[] = {&to_, &from_};
    loops_ = make_loops(views, 2);
    adds_along_ = adds_ && target_->strides[axis_] < loops_.inner_stride(0);
    return Error::Ok;
  }

  Error run(Run&) override {
    const int64_t* places = static_cast<const int64_t*>(places_->data);
    const int64_t size = target_->sizes[axis_];
    if (from_.numel() == 0) return Error::Ok;
    for (int64_t i = 0; i < places_->sizes[0]; ++i) {
      const int64_t given = places[i * places_->strides[0]];
      const int64_t place = given < 0 ? given + size : given;
      RL_REQUIRE(place >= 0 && place < size, InvalidArgument, "index %lld is outside of a dimension of %lld",
                 static_cast<long long>(given), static_cast<long long>(size));
      if (adds_along_) continue;
      const int64_t to = place * target_->strides[axis_], from = i * source_->strides[axis_];
      switch (element_size(target_->dtype)) {
        case 1:
          move<uint8_t>(to, from);
          break;
        case 4:
          if (adds_) {
            add(to, from);
          } else {
            move<uint32_t>(to, from);
          }
          break;
        default:
          move<uint64_t>(to, from);
      }
    }
    if (adds_along_) add_along(places);
    return Error::Ok;
  }

  const char* name() const override { return "scatter"; }

 private:
  template <typename T>
  void move(int64_t to_offset, int64_t from_offset) const {
    const int64_t inner = loops_.inner(), outer = loops_.outer();
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    for (int64_t row = 0; row < outer; ++row) {
      T* to = static_cast<T*>(target_->data) + to_offset + loops_.row(0, row);
      const T* from = static_cast<const T*>(source_->data) + from_offset + loops_.row(1, row);
      for (int64_t i = 0; i < inner; ++i) to[i * to_step] = from[i * from_step];
    }
  }

  void add(int64_t to_offset, int64_t from_offset) const {
    const int64_t inner = loops_.inner(), outer = loops_.outer();
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    for (int64_t row = 0; row < outer; ++row) {
      float* to = target_->floats() + to_offset + loops_.row(0, row);
      const float* from = source_->floats() + from_offset + loops_.row(1, row);
      if (to_step == 1 && from_step == 1) {
        add_rows(to, from, inner);
      } else {
        for (int64_t i = 0; i < inner; ++i) to[i * to_step] += from[i * from_step];
      }
    }
  }
  // Adds elements one by one along the axis. This is faster if elements along the axis are closer together in memory
  // than elements within a slice.
  void add_along(const int64_t* places) const {
    const int64_t inner = loops_.inner(), outer = loops_.outer(), count = places_->sizes[0];
    const int64_t size = target_->sizes[axis_], step = places_->strides[0];
    const int64_t to_step = target_->strides[axis_], from_step = source_->strides[axis_];
    for (int64_t row = 0; row < outer; ++row) {
      for (int64_t j = 0; j < inner; ++j) {
        float* const to = target_->floats() + loops_.row(0, row) + j * loops_.inner_stride(0);
        const float* const from = source_->floats() + loops_.row(1, row) + j * loops_.inner_stride(1);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t given = places[i * step];
          to[(given < 0 ? given + size : given) * to_step] += from[i * from_step];
        }
      }
    }
  }
  // `to` and `from` do not overlap, so that compilers can use vectors.
  static void add_rows(float* __restrict to, const float* __restrict from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  const View* source_ = nullptr;
  const View* places_ = nullptr;
  const View* target_ = nullptr;
  int axis_ = 0;
  bool adds_ = false, adds_along_ = false;
  View to_, from_;  // views of one slice
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Scatter& op, Binder& binder) { return binder.bind<ScatterStep>(op); }

}  // namespace rushlight::cpu
