// Chains of elementwise operators, computed in blocks that stay in the L1 cache.
#include <algorithm>
#include <cstring>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 512;        // the most floats of a register
constexpr int64_t kMaxJoinedRow = 32;  // rows with more floats are not copied in order to join them
constexpr int64_t kMinCopiedRow = 8;   // rows with fewer floats are copied column by column
constexpr int64_t kMaxOperands = kMaxViews - 1;
constexpr int64_t kMaxRegisters = 24;
constexpr int64_t kMaxInstructions = 64;

// The elements of an operand or of a result.
struct Register {
  const float* data;
  int64_t step;  // floats from element to element: 1, or 0 if all elements are the same number
};

// Computes register `to` from register `a`, or from registers `a` and `b`.
struct Instruction {
  bool is_binary;
  microkernels::UnaryOp unary;
  microkernels::BinaryOp binary;
  uint8_t to, a, b;
  float p, q;
};

class ElementwiseStep final : public Step {
 public:
  Error bind(const schema::Elementwise& op, Binder& binder) {
    operands_ = op.inputs().size();
    registers_ = op.registers();
    count_ = op.code().size();
    RL_REQUIRE(count_ >= 1 && count_ <= kMaxInstructions && operands_ >= 1 && operands_ <= kMaxOperands &&
                   operands_ <= registers_ && registers_ <= kMaxRegisters,
               InvalidProgram,
               "an elementwise chain has unsupported sizes: %lld instructions, %lld inputs, %lld registers",
               static_cast<long long>(count_), static_cast<long long>(operands_), static_cast<long long>(registers_));
    bool is_set[kMaxRegisters] = {};
    for (int64_t i = 0; i < operands_; ++i) is_set[i] = true;
    code_ = binder.array<Instruction>(static_cast<size_t>(count_));
    RL_TRY(binder.error());
    for (int64_t i = 0; i < count_; ++i) {
      const schema::Instruction given = op.code()[static_cast<size_t>(i)];
      const bool is_unary = given.unary() != schema::UnaryFunction::NONE;
      const bool is_binary = given.binary() != schema::BinaryFunction::NONE;
      const int64_t most = std::max({given.target(), given.a(), given.b()});
      RL_REQUIRE(is_unary != is_binary && most < registers_ && given.target() >= operands_ && is_set[given.a()] &&
                     (is_unary || is_set[given.b()]),
                 InvalidProgram, "instruction %lld of an elementwise chain is invalid", static_cast<long long>(i));
      Instruction& code = code_[i];
      code = {is_binary, {}, {}, given.target(), given.a(), given.b(), given.p(), given.q()};
      if (is_unary && binder.has_function(given.unary())) code.unary = unary_op(given.unary());
      if (is_binary) code.binary = binary_op(given.binary());
      is_set[code.to] = true;
    }
    kernels_ = &binder.kernels();
    views_[0] = binder.output(op.output());
    for (int64_t i = 0; i < operands_; ++i) views_[i + 1] = binder.input(op.inputs()[static_cast<size_t>(i)]);
    return binder.error();
  }

  Error prepare() override {
    for (int64_t v = 1; v <= operands_; ++v) {
      RL_REQUIRE(views_[v]->has_sizes_of(*views_[0]), InvalidProgram,
                 "the shapes of the operands of an elementwise chain do not match");
    }
    loops_ = make_loops(views_, static_cast<int>(operands_ + 1));
    join_short_rows();
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t inner = loops_.inner(), blocks = divide_up(inner, block_);
    const int64_t workers = views_[0]->numel() * count_ < kSerialWork / 2 ? 1 : run.workers;
    for_workers(run.context, workers, loops_.outer() * blocks, [&](int64_t worker, int64_t begin, int64_t end) {
      float* const scratch = run.scratch + worker * worker_floats();
      const float* repeated[kMaxOperands] = {};
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * block_;
        compute(i / blocks, first, std::min(block_, inner - first), repeated, scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "elementwise chain"; }
  int64_t work() const override { return views_[0]->numel() * count_; }

 private:
  // The scratch memory of a worker has a buffer for each register.
  int64_t worker_floats() const { return registers_ * kBlock; }

  // Joins short rows to longer blocks. An operand whose rows are not contiguous gets a buffer with its rows in
  // sequence, and so does the output. Longer rows are joined only if the rows of the output are contiguous and such
  // operands repeat one row, because then their buffer is filled once.
  void join_short_rows() {
    joined_row_ = 0;
    block_ = kBlock;
    const int64_t length = loops_.inner();
    const int row = loops_.rank - 2;
    if (row < 0 || length < 1 || length > kBlock / 2) return;
    for (int v = 0; v <= operands_; ++v) {
      const int64_t step = loops_.strides[v][row + 1], next = loops_.strides[v][row];
      const bool is_joined = (step == 1 && next == length) || (step == 0 && next == 0);
      const bool is_repeated = v != 0 && next == 0 && step == 1;
      if (!is_joined && !is_repeated && length > kMaxJoinedRow) return;
      is_buffered_[v] = !is_joined;
      element_step_[v] = step;
      row_step_[v] = next;
    }
    for (int v = 0; v <= operands_; ++v) loops_.strides[v][row] = loops_.strides[v][row + 1];
    loops_.sizes[row] *= length;
    --loops_.rank;
    joined_row_ = length;
    block_ = kBlock / length * length;
  }

  // Computes n elements of a row, from element `first` on. repeated[i] is the row that the buffer of operand i contains
  // if the operand repeats this row.
  void compute(int64_t row, int64_t first, int64_t n, const float** repeated, float* scratch) const {
    Register registers[kMaxRegisters];
    for (int64_t i = 0; i < operands_; ++i) {
      registers[i] = load(static_cast<int>(i + 1), row, first, n, &repeated[i], scratch + i * kBlock);
    }
    const bool is_spread = joined_row_ > 0 && is_buffered_[0];
    const int64_t out_step = loops_.inner_stride(0);
    float* const out =
        views_[0]->floats() + loops_.row(0, row) + (is_spread ? first / joined_row_ * row_step_[0] : first * out_step);
    const bool is_in_place = !is_spread && (out_step == 1 || n == 1);  // whether the last instruction writes to `out`
    for (int64_t i = 0; i < count_; ++i) {
      const Instruction& code = code_[i];
      apply(code, n, registers, i + 1 == count_ && is_in_place ? out : scratch + code.to * kBlock);
    }
    if (is_in_place) return;
    const Register result = registers[code_[count_ - 1].to];
    if (is_spread) {
      spread_rows(result.data, n, out);
    } else {
      for (int64_t j = 0; j < n; ++j) out[j * out_step] = result.data[j * result.step];
    }
  }

  // Returns an operand for n elements of a row, from element `first` on. They are copied to `buffer` if they are
  // neither contiguous nor all equal.
  Register load(int view, int64_t row, int64_t first, int64_t n, const float** repeated, float* buffer) const {
    const float* const start = views_[view]->floats() + loops_.row(view, row);
    if (joined_row_ > 0 && is_buffered_[view]) {
      if (row_step_[view] != 0) {
        copy_rows(start + first / joined_row_ * row_step_[view], view, n, buffer);
      } else if (*repeated != start) {
        copy_rows(start, view, block_, buffer);
        *repeated = start;
      }
      return {buffer, 1};
    }
    const int64_t step = loops_.inner_stride(view);
    const float* const from = start + first * step;
    if (step <= 1) return {from, step};
    for (int64_t j = 0; j < n; ++j) buffer[j] = from[j * step];
    return {buffer, 1};
  }

  // Copies the short rows of an operand to a buffer of n floats.
  void copy_rows(const float* from, int view, int64_t n, float* to) const {
    const int64_t length = joined_row_, rows = n / length;
    if (element_step_[view] == 1 && length >= kMinCopiedRow) {
      for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * row_step_[view], length, to + row * length);
      return;
    }
    for (int64_t column = 0; column < length; ++column, from += element_step_[view], ++to) {
      for (int64_t row = 0; row < rows; ++row) to[row * length] = from[row * row_step_[view]];
    }
  }

  // Copies n floats to the short rows of the output.
  void spread_rows(const float* from, int64_t n, float* to) const {
    const int64_t length = joined_row_, rows = n / length;
    if (element_step_[0] == 1 && length >= kMinCopiedRow) {
      for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * length, length, to + row * row_step_[0]);
      return;
    }
    for (int64_t column = 0; column < length; ++column, ++from, to += element_step_[0]) {
      for (int64_t row = 0; row < rows; ++row) to[row * row_step_[0]] = from[row * length];
    }
  }

  // Computes the n elements of the result of an instruction into `to`, and sets its register. If all elements of the
  // operands are equal, only one element is computed, unless the instruction is the last one.
  void apply(const Instruction& code, int64_t n, Register* registers, float* to) const {
    const Register a = registers[code.a];
    bool is_single = n > 1 && a.step == 0;
    if (!code.is_binary) {
      kernels_->unary(code.unary, a.data, to, is_single ? 1 : n, code.p, code.q);
    } else {
      const Register b = registers[code.b];
      is_single = is_single && b.step == 0;
      const bool is_one = is_single || n == 1;
      kernels_->binary(code.binary, a.data, is_one ? 1 : a.step, b.data, is_one ? 1 : b.step, to, is_one ? 1 : n,
                       code.p);
    }
    registers[code.to] = {to, is_single ? 0 : 1};
    if (is_single && &code == code_ + count_ - 1) {
      std::fill_n(to + 1, n - 1, *to);
      registers[code.to].step = 1;
    }
  }

  int64_t operands_ = 0, registers_ = 0, count_ = 0;
  int64_t block_ = kBlock;  // the most elements that are computed at a time
  // If short rows are joined: the floats of such a row, else 0. The following members belong to views.
  int64_t joined_row_ = 0;
  bool is_buffered_[kMaxViews] = {};      // whether the rows are copied to a buffer
  int64_t element_step_[kMaxViews] = {};  // floats from element to element of a row
  int64_t row_step_[kMaxViews] = {};      // floats from row to row
  Instruction* code_ = nullptr;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* views_[kMaxViews] = {};  // the output, then the inputs
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Elementwise& op, Binder& binder) { return binder.bind<ElementwiseStep>(op); }

}  // namespace rushlight::cpu
