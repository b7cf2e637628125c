// Chains of elementwise operators, computed in blocks that stay in the L1 cache.
#include <algorithm>
#include <cstring>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kShortRow = 32;  // rows with more floats are not copied in order to join them
constexpr int64_t kWideRow = 8;    // rows with fewer floats are copied column by column
constexpr int64_t kMaxOperands = kMaxViews - 1;
constexpr int64_t kMaxRegisters = 24;
constexpr int64_t kMaxInstructions = 64;

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
      RL_REQUIRE(views_[v]->rank == views_[0]->rank, InvalidProgram,
                 "the shapes of the operands of an elementwise chain do not match");
      for (int i = 0; i < views_[0]->rank; ++i) {
        RL_REQUIRE(views_[v]->sizes[i] == views_[0]->sizes[i], InvalidProgram,
                   "the shapes of the operands of an elementwise chain do not match");
      }
    }
    loops_ = make_loops(views_, static_cast<int>(operands_ + 1));
    join_short_rows();
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t inner = loops_.inner();
    const int64_t blocks = divide_up(inner, block_);
    const int64_t workers = views_[0]->numel() * count_ < kSerialWork / 2 ? 1 : run.workers;
    for_workers(run.context, workers, loops_.outer() * blocks, [&](int64_t worker, int64_t begin, int64_t end) {
      float* scratch = run.scratch + worker * worker_floats();
      const float* repeated[kMaxOperands] = {};
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * block_;
        block(i / blocks, first, std::min(block_, inner - first), repeated, scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "elementwise chain"; }
  int64_t work() const override { return views_[0]->numel() * count_; }

 private:
  int64_t worker_floats() const { return registers_ * kBlock; }

  // Joins short rows to longer blocks if the rows of the output are contiguous. An operand with other rows gets a
  // buffer with its rows in sequence. Longer rows are joined only if such operands repeat one row, because then the
  // buffer is filled once.
  void join_short_rows() {
    period_ = 0;
    block_ = kBlock;
    const int64_t length = loops_.inner();
    const int row = loops_.rank - 2;
    if (row < 0 || length < 1 || length > kBlock / 2) return;
    for (int v = 0; v <= operands_; ++v) {
      const int64_t step = loops_.strides[v][row + 1], next = loops_.strides[v][row];
      const bool is_joined = (step == 1 && next == length) || (step == 0 && next == 0);
      if (!is_joined && (v == 0 || (length > kShortRow && (next != 0 || step != 1)))) return;
      is_buffered_[v] = !is_joined;
      element_step_[v] = step;
      row_step_[v] = next;
    }
    for (int v = 0; v <= operands_; ++v) loops_.strides[v][row] = loops_.strides[v][row + 1];
    loops_.sizes[row] *= length;
    --loops_.rank;
    period_ = length;
    block_ = kBlock / length * length;
  }

  void block(int64_t row, int64_t first, int64_t n, const float** repeated, float* scratch) const {
    const float* at[kMaxRegisters];
    int64_t step[kMaxRegisters];
    for (int64_t i = 0; i < operands_; ++i) {
      const int view = static_cast<int>(i + 1);
      step[i] = loops_.inner_stride(view);
      at[i] = views_[view]->floats() + loops_.row(view, row);
      if (period_ > 0 && is_buffered_[view]) {
        float* rows = scratch + i * kBlock;
        if (row_step_[view] != 0) {
          copy_rows(at[i] + first / period_ * row_step_[view], view, n, rows);
        } else if (repeated[i] != at[i]) {
          copy_rows(at[i], view, block_, rows);
          repeated[i] = at[i];
        }
        at[i] = rows;
        step[i] = 1;
        continue;
      }
      at[i] += first * step[i];
      if (step[i] <= 1) continue;
      float* buffer = scratch + i * kBlock;
      for (int64_t j = 0; j < n; ++j) buffer[j] = at[i][j * step[i]];
      at[i] = buffer;
      step[i] = 1;
    }
    const int64_t out_step = loops_.inner_stride(0);
    float* out = views_[0]->floats() + loops_.row(0, row) + first * out_step;
    for (int64_t i = 0; i < count_; ++i) {
      const Instruction& code = code_[i];
      float* to = i + 1 == count_ && (out_step == 1 || n == 1) ? out : scratch + code.to * kBlock;
      apply(code, at, step, n, to);
      at[code.to] = to;
    }
    if (out_step == 1 || n == 1) return;
    const float* result = at[code_[count_ - 1].to];
    const int64_t result_step = step[code_[count_ - 1].to];
    for (int64_t j = 0; j < n; ++j) out[j * out_step] = result[j * result_step];
  }

  // Copies the short rows of an operand to a buffer of n floats.
  void copy_rows(const float* from, int view, int64_t n, float* to) const {
    const int64_t rows = n / period_;
    if (element_step_[view] == 1 && period_ >= kWideRow) {
      for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * row_step_[view], period_, to + row * period_);
      return;
    }
    for (int64_t column = 0; column < period_; ++column, from += element_step_[view], ++to) {
      for (int64_t row = 0; row < rows; ++row) to[row * period_] = from[row * row_step_[view]];
    }
  }

  // If every operand has the same value for all elements, computes only one result, unless the instruction is the last
  // one.
  void apply(const Instruction& code, const float* const* at, int64_t* step, int64_t n, float* to) const {
    const float* a = at[code.a];
    int64_t a_step = n == 1 ? 1 : step[code.a];
    if (!code.is_binary) {
      kernels_->unary(code.unary, a, to, a_step == 0 ? 1 : n, code.p, code.q);
    } else {
      const float* b = at[code.b];
      const int64_t b_step = n == 1 ? 1 : step[code.b];
      const bool is_single = a_step == 0 && b_step == 0;
      kernels_->binary(code.binary, a, is_single ? 1 : a_step, b, is_single ? 1 : b_step, to, is_single ? 1 : n,
                       code.p);
      a_step = is_single ? 0 : 1;
    }
    step[code.to] = a_step == 0 ? 0 : 1;
    if (a_step == 0 && &code == code_ + count_ - 1) {
      std::fill_n(to + 1, n - 1, *to);
      step[code.to] = 1;
    }
  }

  int64_t operands_ = 0, registers_ = 0, count_ = 0;
  int64_t period_ = 0;  // floats per row, if rows are joined
  int64_t block_ = kBlock;
  bool is_buffered_[kMaxViews] = {};
  int64_t element_step_[kMaxViews] = {};  // of rows in buffers
  int64_t row_step_[kMaxViews] = {};
  Instruction* code_ = nullptr;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* views_[kMaxViews] = {};
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Elementwise& op, Binder& binder) { return binder.bind<ElementwiseStep>(op); }

}  // namespace rushlight::cpu
