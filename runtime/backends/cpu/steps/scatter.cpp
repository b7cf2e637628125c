// Writes slices of a tensor at indices that are known only at run time.
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

class ScatterStep final : public Step {
 public:
  Error bind(const schema::Scatter& op, Binder& binder) {
    source_ = binder.any_input(op.source());
    indices_ = binder.any_input(op.indices());
    target_ = binder.any_output(op.output());
    axis_ = static_cast<int>(op.axis());
    adds_ = op.adds();
    RL_TRY(binder.error());
    RL_REQUIRE(!adds_ || target_->dtype == ScalarType::Float, InvalidProgram,
               "a scatter with addition supports only float32");
    RL_REQUIRE(source_->dtype == target_->dtype && indices_->dtype == ScalarType::Long, InvalidProgram,
               "the operands of a scatter have unsupported dtypes");
    return Error::Ok;
  }

  Error prepare() override {
    bool fits = source_->rank == target_->rank && axis_ < target_->rank && indices_->rank == 1 &&
                indices_->sizes[0] == source_->sizes[axis_];
    for (int i = 0; fits && i < target_->rank; ++i) fits = i == axis_ || source_->sizes[i] == target_->sizes[i];
    RL_REQUIRE(fits, InvalidProgram, "the shapes or strides of the operands of a scatter do not match");
    to_ = *target_;
    from_ = *source_;
    to_.sizes[axis_] = from_.sizes[axis_] = 1;
    const View* const views[] = {&to_, &from_};
    loops_ = make_loops(views, 2);
    adds_along_axis_ = adds_ && target_->strides[axis_] < loops_.inner_stride(0);
    return Error::Ok;
  }

  Error run(Run&) override {
    const int64_t size = target_->sizes[axis_];
    if (from_.numel() == 0) return Error::Ok;
    for (int64_t i = 0; i < indices_->sizes[0]; ++i) {
      const int64_t position = position_of(i);
      RL_REQUIRE(position >= 0 && position < size, InvalidArgument, "index %lld is outside of a dimension of %lld",
                 static_cast<long long>(index_at(i)), static_cast<long long>(size));
      if (!adds_along_axis_) write_slice(position * target_->strides[axis_], i * source_->strides[axis_]);
    }
    if (adds_along_axis_) add_along_axis();
    return Error::Ok;
  }

  const char* name() const override { return "scatter"; }

 private:
  int64_t index_at(int64_t i) const { return static_cast<const int64_t*>(indices_->data)[i * indices_->strides[0]]; }
  // Returns the position in the target of slice `i` of the source. Negative indices count from the end.
  int64_t position_of(int64_t i) const {
    const int64_t index = index_at(i);
    return index < 0 ? index + target_->sizes[axis_] : index;
  }

  // Writes or adds a slice of the source to a slice of the target. The offsets of both are in elements.
  void write_slice(int64_t to_offset, int64_t from_offset) const {
    if (adds_) return add(to_offset, from_offset);
    switch (element_size(target_->dtype)) {
      case 1:
        return move<uint8_t>(to_offset, from_offset);
      case 4:
        return move<uint32_t>(to_offset, from_offset);
      default:
        return move<uint64_t>(to_offset, from_offset);
    }
  }

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
  void add_along_axis() const {
    const int64_t inner = loops_.inner(), outer = loops_.outer(), count = indices_->sizes[0];
    const int64_t to_step = target_->strides[axis_], from_step = source_->strides[axis_];
    for (int64_t row = 0; row < outer; ++row) {
      for (int64_t j = 0; j < inner; ++j) {
        float* const to = target_->floats() + loops_.row(0, row) + j * loops_.inner_stride(0);
        const float* const from = source_->floats() + loops_.row(1, row) + j * loops_.inner_stride(1);
        for (int64_t i = 0; i < count; ++i) to[position_of(i) * to_step] += from[i * from_step];
      }
    }
  }
  // `to` and `from` do not overlap, so that compilers can use vectors.
  static void add_rows(float* __restrict to, const float* __restrict from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  const View* source_ = nullptr;
  const View* indices_ = nullptr;
  const View* target_ = nullptr;
  int axis_ = 0;
  bool adds_ = false;
  bool adds_along_axis_ = false;  // see add_along_axis()
  View to_, from_;                // views of one slice
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Scatter& op, Binder& binder) { return binder.bind<ScatterStep>(op); }

}  // namespace rushlight::cpu
