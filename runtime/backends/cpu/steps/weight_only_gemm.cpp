// GEMM of a float LHS and int8 or int4 weights with a scale for each group of numbers.
#include "backends/cpu/int8.h"
#include "microkernels/conv/f32.h"
#include "microkernels/gemm/f32.h"

namespace rushlight::cpu {

namespace {

// With at most this many rows, the weights are dequantized in registers, without writing them to memory.
constexpr int64_t kFewRows = 16;
// Floats of a tile of rows that are multiplied by kColumns columns before the next terms, so that they stay in the
// first-level cache.
constexpr int64_t kTileFloats = 4096, kColumns = 64;

class WeightOnlyGemmStep final : public Step {
 public:
  Error bind(const schema::WeightOnlyGemm& op, Binder& binder) {
    const int64_t bits = op.bits(), depth = op.channels(), columns = op.outputs(), group = op.group();
    RL_TRY(binder.error());
    RL_REQUIRE((bits == 8 || (bits == 4 && group % 2 == 0)) && depth % group == 0, InvalidProgram,
               "a weight-only GEMM has unsupported weights: numbers of %lld bits, groups of %lld numbers, rows of %lld "
               "numbers",
               static_cast<long long>(bits), static_cast<long long>(group), static_cast<long long>(depth));
    matrix_.is_int4 = bits == 4;
    matrix_.depth = depth, matrix_.group = group;
    matrix_.numbers =
        reinterpret_cast<const uint8_t*>(binder.int8_constant(op.weight(), columns * matrix_.row_bytes()));
    matrix_.scales = binder.constant(op.weight_scale(), columns * (depth / group));
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
    return static_cast<size_t>(padded_rows() * (depth() + workers * kColumns));
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
  int64_t depth() const { return matrix_.depth; }
  // Returns the rows of the tile that begins at `row`.
  int64_t tile_rows(int64_t row) const {
    const int64_t most = microkernels::int8_microkernels().scaled_rows;
    return most == 1 || rows_ - row == 1 ? 1 : rows_ - row <= 4 ? 4 : most;
  }
  int64_t padded_rows() const {
    int64_t row = 0;
    while (row < rows_) row += tile_rows(row);
    return row;
  }

  Error run_few_rows(Run& run) const {
    if (rows_ == 0) return Error::Ok;
    const int64_t columns = convolution_.outputs;
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for (int64_t row = 0; row < rows_; row += tile_rows(row)) {
      pack_scaled_rows(in_->floats() + row * depth(), depth(), rows_ - row, tile_rows(row),
                       matrix_.part(0, 1, 0, depth()), run.scratch + row * depth());
    }
    for_workers(run.context, workers, divide_up(columns, kColumns), [&](int64_t worker, int64_t begin, int64_t end) {
      float* const sums = run.scratch + padded_rows() * (depth() + worker * kColumns);
      for (int64_t j = begin * kColumns; j < std::min(end * kColumns, columns); j += kColumns) {
        const int64_t n = std::min(kColumns, columns - j);
        multiply(run.scratch, j, n, sums);
        for (int64_t i = 0; i < rows_; ++i) finish(i, j, n, sums + i * n);
      }
    });
    return Error::Ok;
  }

  // Computes the sums of n columns from `column` on.
  void multiply(const float* x, int64_t column, int64_t n, float* sums) const {
    std::fill_n(sums, padded_rows() * n, 0.0f);
    for (int64_t row = 0, tile; row < rows_; row += tile) {
      tile = tile_rows(row);
      const int64_t part = kTileFloats / tile;
      for (int64_t first = 0; first < depth(); first += part) {
        const int64_t last = std::min(first + part, depth());
        microkernels::int8_microkernels().add_scaled_dots(
            static_cast<int>(tile),
            {x + row * depth() + first * tile, matrix_.part(column, n, first, last), sums + row * n, n});
      }
    }
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
