// Elementwise int8 steps: sums and products of two tensors, and functions of one tensor as lookup tables.
#include <algorithm>
#include <cstring>

#include "backends/cpu/int8.h"
#include "backends/cpu/loops.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 4096;  // the most numbers that are computed at a time

Error require_one_shape(const View* const* views, int count) {
  for (int v = 1; v < count; ++v) {
    RL_REQUIRE(views[v]->has_sizes_of(*views[0]), InvalidProgram,
               "the shapes of the operands of an int8 elementwise step do not match");
  }
  return Error::Ok;
}

class Int8BinaryStep final : public Step {
 public:
  Error bind(const schema::Int8Binary& op, Binder& binder) {
    binary_.multiplies = op.multiplies();
    binary_.a_zero = op.a_zero_point(), binary_.b_zero = op.b_zero_point();
    binary_.a_factor = op.a_factor(), binary_.b_factor = op.b_factor();
    RL_ASSIGN(binary_.range, range_of(op.range()));
    views_[0] = binder.output_of(op.output(), ScalarType::Char);
    views_[1] = binder.input_of(op.a(), ScalarType::Char);
    views_[2] = binder.input_of(op.b(), ScalarType::Char);
    return binder.error();
  }

  Error prepare() override {
    RL_TRY(require_one_shape(views_, 3));
    loops_ = make_loops(views_, 3);
    period_ = 0, block_ = kBlock;
    if (has_short_rows()) join_rows();
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * 3 * kBlock / 4); }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t workers = views_[0]->numel() < kSerialWork ? 1 : run.workers;
    for_blocks(run.context, workers, loops_, block_, [&](int64_t worker, int64_t row, int64_t first, int64_t n) {
      int8_t* const scratch = reinterpret_cast<int8_t*>(run.scratch) + worker * 3 * kBlock;
      const int8_t* a = gather(1, row, first, n, scratch);
      const int8_t* b = gather(2, row, first, n, scratch + kBlock);
      const int64_t step = loops_.inner_stride(0);
      int8_t* const out = static_cast<int8_t*>(views_[0]->data) + loops_.row(0, row) + first * step;
      int8_t* const to = step == 1 || n == 1 ? out : scratch + 2 * kBlock;
      binary_.run(a, b, n, to);
      if (to == out) return;
      for (int64_t i = 0; i < n; ++i) out[i * step] = to[i];
    });
    return Error::Ok;
  }

  const char* name() const override { return binary_.multiplies ? "int8 multiplication" : "int8 addition"; }
  int64_t work() const override { return views_[0]->numel(); }

 private:
  // Returns whether rows are short, rows of the output are adjacent, and an operand repeats the same row.
  bool has_short_rows() const {
    const int64_t inner = loops_.inner();
    if (loops_.rank < 2 || inner > kBlock / 8) return false;
    for (int v = 0; v < 3; ++v) {
      const int64_t step = loops_.strides[v][loops_.rank - 2];
      if (loops_.inner_stride(v) != 1 || (step != inner && (v == 0 || step != 0))) return false;
    }
    return true;
  }

  // Makes all rows of the last loop but one a single row. Operands that repeat a row then have a period.
  void join_rows() {
    period_ = loops_.inner(), block_ = kBlock / period_ * period_;
    const int last = --loops_.rank - 1;
    loops_.sizes[last] *= period_;
    for (int v = 0; v < 3; ++v) {
      is_periodic_[v] = loops_.strides[v][last] == 0;
      loops_.strides[v][last] = 1;
    }
  }

  // Returns n contiguous elements of a row of an operand, from element `first` on. They are copied to `scratch` if they
  // are not contiguous.
  const int8_t* gather(int view, int64_t row, int64_t first, int64_t n, int8_t* scratch) const {
    const int64_t step = loops_.inner_stride(view);
    const int8_t* from = static_cast<const int8_t*>(views_[view]->data) + loops_.row(view, row);
    if (period_ > 0 && is_periodic_[view]) {
      for (int64_t i = 0; i < n; i += period_) std::memcpy(scratch + i, from, static_cast<size_t>(period_));
      return scratch;
    }
    from += first * step;
    if (step == 1 || n == 1) return from;
    for (int64_t i = 0; i < n; ++i) scratch[i] = from[i * step];
    return scratch;
  }

  microkernels::Int8Binary binary_;
  const View* views_[3] = {};
  Loops loops_;
  int64_t block_ = kBlock;
  int64_t period_ = 0;  // the numbers of an operand that repeats a row; 0 if there is no such operand
  bool is_periodic_[3] = {};
};

class Int8LookupStep final : public Step {
 public:
  Error bind(const schema::Int8Lookup& op, Binder& binder) {
    views_[0] = binder.any_output(op.output());
    views_[1] = binder.any_input(op.input());
    table_ = binder.int8_constant(op.entries(), 256);
    RL_TRY(binder.error());
    RL_REQUIRE(element_size(views_[0]->dtype) == 1 && element_size(views_[1]->dtype) == 1, InvalidProgram,
               "a lookup table maps int8 or uint8 numbers, not %s to %s", dtype_name(views_[1]->dtype),
               dtype_name(views_[0]->dtype));
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_one_shape(views_, 2));
    loops_ = make_loops(views_, 2);
    width_ = 0, block_ = kBlock;
    if (has_short_rows()) join_rows();
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t workers = views_[0]->numel() < kSerialWork ? 1 : run.workers;
    const auto look_up = microkernels::int8_microkernels().loops.look_up;
    for_blocks(run.context, workers, loops_, block_, [&](int64_t, int64_t row, int64_t first, int64_t n) {
      const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
      int8_t* const to = static_cast<int8_t*>(views_[0]->data) + loops_.row(0, row) + first * to_step;
      const uint8_t* from = static_cast<const uint8_t*>(views_[1]->data) + loops_.row(1, row);
      if (width_ > 0) {
        from += first / width_ * from_step;
        for (int64_t i = 0; i < n; i += width_, from += from_step) {
          std::memcpy(to + i, from, static_cast<size_t>(width_));
        }
        look_up(reinterpret_cast<const uint8_t*>(to), table_, n, to);
        return;
      }
      from += first * from_step;
      if (to_step == 1 && from_step == 1) return look_up(from, table_, n, to);
      for (int64_t i = 0; i < n; ++i) to[i * to_step] = table_[from[i * from_step]];
    });
    return Error::Ok;
  }

  const char* name() const override { return "int8 lookup table"; }
  int64_t work() const override { return views_[0]->numel(); }

 private:
  // Returns whether rows are short, and rows of the output are adjacent.
  bool has_short_rows() const {
    const int64_t inner = loops_.inner();
    return loops_.rank >= 2 && inner <= kBlock / 8 && loops_.inner_stride(0) == 1 && loops_.inner_stride(1) == 1 &&
           loops_.strides[0][loops_.rank - 2] == inner;
  }

  // Makes all rows of the last loop but one a single row, because each call of look_up() prepares the table. The last
  // stride of the input remains the distance of the rows.
  void join_rows() {
    width_ = loops_.inner(), block_ = kBlock / width_ * width_;
    const int last = --loops_.rank - 1;
    loops_.sizes[last] *= width_;
    loops_.strides[0][last] = 1;
  }

  const View* views_[2] = {};
  const int8_t* table_ = nullptr;
  Loops loops_;
  int64_t block_ = kBlock;
  int64_t width_ = 0;  // the numbers of a row before join_rows(); 0 if rows are not joined
};

}  // namespace

Result<Step*> make_step(const schema::Int8Binary& op, Binder& binder) { return binder.bind<Int8BinaryStep>(op); }

Result<Step*> make_step(const schema::Int8Lookup& op, Binder& binder) { return binder.bind<Int8LookupStep>(op); }

}  // namespace rushlight::cpu
