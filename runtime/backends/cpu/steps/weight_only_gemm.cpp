// GEMM of a float LHS and int8 or int4 weights with a scale for each group of numbers.
#include "backends/cpu/int8.h"
#include "backends/cpu/scaled_rows.h"
#include "microkernels/conv/f32.h"
#include "microkernels/gemm/f32.h"

namespace rushlight::cpu {

namespace {

// With at most this many rows, the weights are dequantized in registers, without writing them to memory.
constexpr int64_t kFewRows = 16;
// Columns of few rows that are computed together.
constexpr int64_t kColumns = 64;

class WeightOnlyGemmStep final : public Step {
 public:
  Error bind(const schema::WeightOnlyGemm& op, Binder& binder) {
    const int64_t depth = op.channels(), columns = op.outputs();
    RL_TRY(bind_grouped(binder, op.weight(), op.weight_scale(), {op.bits(), depth, columns, op.group()}, matrix_));
    in_ = binder.input(op.input());
    residual_ = binder.optional_input(op.residual());
    out_ = binder.output(op.output());
    convolution_.kernels = &binder.kernels();
    convolution_.channels = depth, convolution_.outputs = columns;
    convolution_.weights.grouped = &matrix_;
    convolution_.bias = binder.padded_constant(op.bias(), columns, packing_of(binder.kernels()).columns(columns));
    convolution_.epilogue = binder.epilogue(op.epilogue());
    return binder.error();
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    if (residual_) RL_TRY(require_residual(*residual_, *out_));
    RL_ASSIGN(const Image in, image_of(*in_));
    RL_ASSIGN(const Image out, image_of(*out_));
    Sources sources;
    sources.add(in);
    rows_ = out.sizes[0] * out.sizes[1] * out.sizes[2];
    if (residual_ == nullptr) return convolution_.prepare(sources, out, nullptr);
    RL_ASSIGN(const Image residual, image_of(*residual_));
    return convolution_.prepare(sources, out, &residual);
  }

  size_t scratch_floats(int64_t workers) const override {
    if (rows_ > kFewRows) return convolution_.scratch_floats(workers);
    return static_cast<size_t>(ScaledRows(matrix_, rows_).padded_rows() * (matrix_.depth + workers * kColumns));
  }

  Error run(Run& run) override {
    if (rows_ <= kFewRows) return run_few_rows(run);
    const float* const in = in_->floats();
    convolution_.run(run.context, run.workers, &in, out_->floats(), residual_ ? residual_->floats() : nullptr,
                     run.scratch, run.next);
    return Error::Ok;
  }

  const char* name() const override { return matrix_.is_int4 ? "GEMM with int4 weights" : "GEMM with int8 weights"; }
  int64_t work() const override { return convolution_.work(); }

 private:
  Error run_few_rows(Run& run) const {
    if (rows_ == 0) return Error::Ok;
    const int64_t columns = convolution_.outputs;
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    const ScaledRows rows(matrix_, rows_);
    const int64_t padded = rows.padded_rows();
    rows.pack(in_->floats(), matrix_.depth, run.scratch);
    for_workers(run.context, workers, divide_up(columns, kColumns), [&](int64_t worker, int64_t begin, int64_t end) {
      float* const sums = run.scratch + padded * (matrix_.depth + worker * kColumns);
      for (int64_t j = begin * kColumns; j < std::min(end * kColumns, columns); j += kColumns) {
        const int64_t n = std::min(kColumns, columns - j);
        std::fill_n(sums, padded * n, 0.0f);
        rows.add_products(run.scratch, j, n, sums, n);
        for (int64_t i = 0; i < rows_; ++i) finish(i, j, n, sums + i * n);
      }
    });
    return Error::Ok;
  }

  // Applies bias, residual, clamp and activation to a part of a row of results, and writes it to the output.
  void finish(int64_t row, int64_t column, int64_t n, float* x) const {
    const microkernels::F32Microkernels& kernels = *convolution_.kernels;
    const int64_t at = row * convolution_.outputs + column;
    const microkernels::Epilogue& e = convolution_.epilogue;
    const float* const bias = convolution_.bias;
    float* const to = out_->floats() + at;
    if (bias) kernels.binary(microkernels::BinaryOp::Add, x, 1, bias + column, 1, x, n, 0);
    if (residual_) kernels.binary(microkernels::BinaryOp::Add, x, 1, residual_->floats() + at, 1, x, n, 0);
    if (e.clamps) kernels.unary(microkernels::UnaryOp::Clamp, x, x, n, e.low, e.high);
    if (e.applies) {
      kernels.unary(e.op, x, to, n, e.p, e.q);
    } else {
      std::copy_n(x, n, to);
    }
  }

  microkernels::PackedConvolution convolution_;
  microkernels::GroupedMatrix matrix_{};
  int64_t rows_ = 0;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::WeightOnlyGemm& op, Binder& binder) {
  return binder.bind<WeightOnlyGemmStep>(op);
}

}  // namespace rushlight::cpu
