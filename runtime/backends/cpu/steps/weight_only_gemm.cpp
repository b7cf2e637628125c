// GEMM of a float LHS and int8 or int4 weights with a scale for each group of numbers.
#include "backends/cpu/int8.h"
#include "microkernels/gemm/f32.h"

namespace rushlight::cpu {

namespace {

// With at most this many rows, the weights are dequantized in registers, without writing them to memory.
constexpr int64_t kFewRows = 8;

class WeightOnlyGemmStep final : public Step {
 public:
  Error bind(const schema::WeightOnlyGemm& op, Binder& binder) {
    bits_ = op.bits();
    depth_ = op.channels();
    columns_ = op.outputs();
    group_ = op.group();
    epilogue_ = binder.epilogue(op.epilogue());
    kernels_ = &binder.kernels();
    RL_TRY(binder.error());
    RL_REQUIRE((bits_ == 8 || (bits_ == 4 && group_ % 2 == 0)) && depth_ % group_ == 0, InvalidProgram,
               "a weight-only GEMM has unsupported weights: numbers of %lld bits, groups of %lld numbers, rows of %lld "
               "numbers",
               static_cast<long long>(bits_), static_cast<long long>(group_), static_cast<long long>(depth_));
    in_ = binder.input(op.input());
    numbers_ = reinterpret_cast<const uint8_t*>(binder.int8_constant(op.weight(), columns_ * row_bytes()));
    bias_ = binder.optional_constant(op.bias(), columns_);
    residual_ = binder.optional_input(op.residual());
    scales_ = binder.constant(op.weight_scale(), columns_ * groups());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    rows_ = out_->sizes[0] * out_->sizes[1] * out_->sizes[2];
    RL_REQUIRE(
        in_->sizes[3] == depth_ && out_->sizes[3] == columns_ && in_->sizes[0] * in_->sizes[1] * in_->sizes[2] == rows_,
        InvalidProgram, "the shapes of the operands of a weight-only GEMM do not match");
    if (residual_ == nullptr) return Error::Ok;
    RL_REQUIRE(residual_->rank == 4 && is_dense(*residual_) && residual_->numel() == out_->numel(), InvalidProgram,
               "the residual of a weight-only GEMM does not have the shape of the output");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    if (rows_ == 0) return Error::Ok;
    const int64_t step = microkernels::column_step(*kernels_);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, divide_up(columns_, step), [&](int64_t worker, int64_t begin, int64_t end) {
      float* const scratch = run.scratch + worker * worker_floats();
      for (int64_t j = begin * step; j < std::min(end * step, columns_); j += step) {
        const int64_t n = std::min(step, columns_ - j);
        rows_ > kFewRows ? multiply(j, n, scratch) : multiply_few_rows(j, n, scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return bits_ == 4 ? "GEMM with int4 weights" : "GEMM with int8 weights"; }
  int64_t work() const override { return 2 * rows_ * depth_ * columns_; }

 private:
  int64_t groups() const { return depth_ / group_; }
  int64_t row_bytes() const { return depth_ * bits_ / 8; }
  int64_t panel_floats() const { return round_up(microkernels::column_step(*kernels_) * depth_, 16); }
  // Scratch memory of a worker: results of a panel, dequantized weights of a panel, and the scratch memory of the GEMM.
  int64_t result_floats() const { return round_up(rows_ * microkernels::column_step(*kernels_), 16); }
  int64_t worker_floats() const {
    if (rows_ <= kFewRows) return result_floats();
    return result_floats() + panel_floats() +
           round_up(microkernels::gemm_scratch(*kernels_, depth_, microkernels::column_step(*kernels_)), 16);
  }

  // Computes n columns from `column` on, for at most kFewRows rows.
  void multiply_few_rows(int64_t column, int64_t n, float* results) const {
    microkernels::int8_microkernels().scaled_dots(
        rows_, n,
        {in_->floats(), depth_, numbers_ + column * row_bytes(), bits_ == 4, row_bytes(), scales_ + column * groups(),
         groups(), groups(), group_, results, n});
    for (int64_t i = 0; i < rows_; ++i) finish(i, column, n, results + i * n);
  }

  // Computes n columns from `column` on with a GEMM of dequantized weights.
  void multiply(int64_t column, int64_t n, float* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    float* const weights = scratch + result_floats();
    for (int64_t j = 0; j < n; ++j) {
      const uint8_t* from = numbers_ + (column + j) * row_bytes();
      float* to = weights + j * depth_;
      for (int64_t g = 0; g < groups(); ++g, to += group_, from += group_ * bits_ / 8) {
        const float scale = scales_[(column + j) * groups() + g];
        bits_ == 4 ? t.dequantize_int4(from, group_, 0, scale, to) : t.dequantize_int8(from, 0, group_, 0, scale, to);
      }
    }
    microkernels::F32Gemm p{};
    p.m = rows_, p.n = n, p.k = depth_;
    p.a = in_->floats(), p.lda = depth_;
    p.rhs = microkernels::F32Gemm::Rhs::Transposed;
    p.b = weights, p.ldb = depth_;
    p.bias_of = microkernels::BiasOf::None;
    p.c = scratch, p.ldc = n;
    microkernels::multiply(*kernels_, p, 0, rows_, 0, n, weights + panel_floats());
    for (int64_t i = 0; i < rows_; ++i) finish(i, column, n, scratch + i * n);
  }

  // Applies bias, residual, clamp and activation to a part of a row of results, and writes it to the output.
  void finish(int64_t row, int64_t column, int64_t n, float* x) const {
    const int64_t at = row * columns_ + column;
    const microkernels::Epilogue& e = epilogue_;
    float* const to = out_->floats() + at;
    if (bias_) kernels_->binary(microkernels::BinaryOp::Add, x, 1, bias_ + column, 1, x, n, 0);
    if (residual_) kernels_->binary(microkernels::BinaryOp::Add, x, 1, residual_->floats() + at, 1, x, n, 0);
    if (e.clamps) kernels_->unary(microkernels::UnaryOp::Clamp, x, x, n, e.low, e.high);
    if (e.applies) {
      kernels_->unary(e.op, x, to, n, e.p, e.q);
    } else {
      std::copy_n(x, n, to);
    }
  }

  int64_t bits_ = 8, depth_ = 1, columns_ = 1, group_ = 1, rows_ = 0;
  microkernels::Epilogue epilogue_{};
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* in_ = nullptr;
  const uint8_t* numbers_ = nullptr;
  const float* bias_ = nullptr;
  const View* residual_ = nullptr;
  const float* scales_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::WeightOnlyGemm& op, Binder& binder) {
  return binder.bind<WeightOnlyGemmStep>(op);
}

}  // namespace rushlight::cpu
