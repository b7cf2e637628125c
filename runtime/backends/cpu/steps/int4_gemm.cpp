// GEMM of an int8 LHS and 4-bit weights with a scale for each group of numbers. The sums within a group are exact.
#include "backends/cpu/int8.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 32;    // numbers of a row that a tile processes at a time
constexpr int64_t kColumns = 16;  // columns of one task
constexpr int64_t kMaxRows = 48;  // rows that are computed at a time
constexpr int64_t kManyRows = 8;  // with fewer rows, it is slower to expand the weights to int8

class Int4GemmStep final : public Step {
 public:
  Error bind(const schema::Int4Gemm& op, Binder& binder) {
    depth_ = op.channels();
    columns_ = op.outputs();
    group_ = op.group();
    epilogue_ = binder.epilogue(op.epilogue());
    floats_ = &binder.kernels();
    RL_TRY(binder.error());
    RL_REQUIRE(group_ % kBlock == 0 && depth_ % group_ == 0, InvalidProgram,
               "a GEMM with int4 weights has groups of %lld numbers, which do not divide rows of %lld numbers",
               static_cast<long long>(group_), static_cast<long long>(depth_));
    in_ = binder.input_of(op.input(), ScalarType::Char);
    numbers_ = reinterpret_cast<const uint8_t*>(binder.int8_constant(op.weight(), columns_ * depth_ / 2));
    bias_ = binder.optional_constant(op.bias(), columns_);
    residual_ = binder.optional_input(op.residual());
    row_scales_ = binder.input(op.row_scale());
    row_zeros_ = binder.input_of(op.row_zero_point(), ScalarType::Int);
    scales_ = binder.constant(op.weight_scale(), columns_ * groups());
    weight_sums_ = binder.constant(op.weight_sum(), columns_);
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    rows_ = out_->sizes[0] * out_->sizes[1] * out_->sizes[2];
    RL_REQUIRE(in_->sizes[3] == depth_ && out_->sizes[3] == columns_ &&
                   in_->sizes[0] * in_->sizes[1] * in_->sizes[2] == rows_ &&
                   are_row_parameters(*row_scales_, *row_zeros_, rows_),
               InvalidProgram, "the shapes of the operands of a GEMM with int4 weights do not match");
    if (residual_ == nullptr) return Error::Ok;
    RL_REQUIRE(residual_->rank == 4 && is_dense(*residual_) && residual_->numel() == out_->numel(), InvalidProgram,
               "the residual of a GEMM with int4 weights does not have the shape of the output");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(lhs_floats() + workers * worker_floats());
  }

  Error run(Run& run) override {
    if (rows_ == 0) return Error::Ok;
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    uint8_t* const left = reinterpret_cast<uint8_t*>(run.scratch);
    const int8_t* const in = static_cast<const int8_t*>(in_->data);
    for_workers(run.context, rows_ < workers ? 1 : workers, rows_, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) t.pack_int4_lhs(in + i * depth_, depth_, left + i * depth_);
    });
    const int64_t together = expands() ? microkernels::kInt4Panel : kColumns;
    for_workers(run.context, workers, divide_up(columns_, together), [&](int64_t worker, int64_t begin, int64_t end) {
      float* const scratch = run.scratch + lhs_floats() + worker * worker_floats();
      for (int64_t j = begin; j < end; ++j) {
        expands() ? multiply_expanded(j * together, left, scratch) : multiply(j * together, left, scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "int8 GEMM with int4 weights"; }
  int64_t work() const override { return 2 * rows_ * depth_ * columns_; }

 private:
  bool expands() const { return rows_ >= kManyRows && microkernels::int8_microkernels().expand_int4 != nullptr; }
  int64_t panel_floats() const { return depth_ * microkernels::kInt4Panel / 4; }
  // The scratch memory of a worker: a panel of expanded weights with its scales, and sums; or only sums.
  int64_t worker_floats() const {
    return expands() ? (kMaxRows + groups()) * microkernels::kInt4Panel + panel_floats() : kMaxRows * kColumns;
  }

  int64_t groups() const { return depth_ / group_; }
  int64_t lhs_floats() const { return round_up(rows_ * depth_, 64) / 4; }

  microkernels::Int4Dots dots_from(int64_t column) const {
    microkernels::Int4Dots d{};
    d.lhs_stride = depth_;
    d.rhs = numbers_ + column * (depth_ / 2), d.rhs_stride = depth_ / 2;
    d.scales = scales_ + column * groups(), d.scale_stride = groups();
    d.groups = groups(), d.group = group_;
    return d;
  }

  // Computes kInt4Panel columns from `column` on, or fewer at the end.
  void multiply_expanded(int64_t column, const uint8_t* left, float* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t n = std::min(microkernels::kInt4Panel, columns_ - column);
    int8_t* const rhs = reinterpret_cast<int8_t*>(scratch);
    float* const scales = scratch + panel_floats();
    microkernels::Int4Panel p{
        left, depth_, rhs, scales, groups(), group_, scales + groups() * microkernels::kInt4Panel};
    t.expand_int4(dots_from(column), n, rhs, scales);
    // The weights of the next panel are prefetched, because each weight is read only once in a run.
    const uint8_t* const ahead = numbers_ + (column + n) * (depth_ / 2);
    const int64_t ahead_bytes = std::min(microkernels::kInt4Panel, columns_ - column - n) * (depth_ / 2);
    for (int64_t i = 0; i < ahead_bytes; i += 64) __builtin_prefetch(ahead + i, 0, 2);
    for (int64_t row = 0; row < rows_; row += kMaxRows) {
      const int64_t rows = std::min(kMaxRows, rows_ - row);
      p.lhs = left + row * depth_;
      t.int4_panel(rows, p);
      finish(row, rows, column, n, p.sums, microkernels::kInt4Panel);
    }
  }

  // Computes kColumns columns from `column` on, or fewer at the end.
  void multiply(int64_t column, const uint8_t* left, float* sums) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t n = std::min(kColumns, columns_ - column);
    microkernels::Int4Dots d = dots_from(column);
    d.sums = sums, d.sums_stride = kColumns;
    for (int64_t row = 0; row < rows_; row += kMaxRows) {
      const int64_t rows = std::min(kMaxRows, rows_ - row);
      d.lhs = left + row * depth_;
      t.int4_dots(rows, n, d);
      finish(row, rows, column, n, sums, kColumns);
    }
  }

  // Applies scales, zero points and the epilogue to the sums of rows [row, row + rows), whose rows are `step` floats
  // apart, and writes the results to n columns of the output.
  void finish(int64_t row, int64_t rows, int64_t column, int64_t n, const float* sums, int64_t step) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const bool has_one_scale = row_scales_->sizes[0] == 1;  // for all rows
    const float* const bias = bias_ ? bias_ + column : nullptr;
    const float* const residual = residual_ ? residual_->floats() + column : nullptr;
    float* const out = out_->floats() + row * columns_ + column;
    for (int64_t i = row; i < row + rows; ++i) {
      const int64_t r = has_one_scale ? 0 : i;
      const float zero = static_cast<float>(static_cast<const int32_t*>(row_zeros_->data)[r] + t.int4_offset);
      const float* const more = residual ? residual + i * columns_ : nullptr;
      t.int4_row({sums + (i - row) * step, weight_sums_ + column, zero, row_scales_->floats()[r], bias, more,
                  out + (i - row) * columns_},
                 n);
    }
    const microkernels::Epilogue& e = epilogue_;
    for (int64_t i = 0; i < rows && e.clamps; ++i) {
      floats_->unary(microkernels::UnaryOp::Clamp, out + i * columns_, out + i * columns_, n, e.low, e.high);
    }
    if (e.applies) floats_->packed->apply(e, out, columns_, rows, n);
  }

  int64_t depth_ = 1, columns_ = 1, group_ = 1, rows_ = 0;
  microkernels::Epilogue epilogue_{};
  const microkernels::F32Microkernels* floats_ = nullptr;
  const View* in_ = nullptr;
  const uint8_t* numbers_ = nullptr;
  const float* bias_ = nullptr;
  const View* residual_ = nullptr;
  const View* row_scales_ = nullptr;
  const View* row_zeros_ = nullptr;
  const float* scales_ = nullptr;
  const float* weight_sums_ = nullptr;  // [columns]: the sum of the scaled weights, for the zero points of rows
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int4Gemm& op, Binder& binder) { return binder.bind<Int4GemmStep>(op); }

}  // namespace rushlight::cpu
