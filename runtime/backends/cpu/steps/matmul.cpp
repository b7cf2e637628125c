// Batches of matrix products of two operands that are not constant.
#include <algorithm>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "microkernels/gemm/f32.h"

namespace rushlight::cpu {

namespace {

class MatMulStep final : public Step {
 public:
  Error bind(const schema::MatMul& op, Binder& binder) {
    kernels_ = &binder.kernels();
    a_ = binder.input(op.a());
    b_ = binder.input(op.b());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(have_matching_shapes() && have_supported_strides(), InvalidProgram,
               "the shapes or strides of the operands of a matrix product do not match");
    using microkernels::F32Gemm;
    const View &a = *a_, &b = *b_, &out = *out_;
    gemm_ = F32Gemm{};
    gemm_.k = a.sizes[3];
    gemm_.bias_of = microkernels::BiasOf::None;
    // A product with one column is faster as a transposed product with one row.
    swaps_ = out.sizes[3] == 1 && (gemm_.k <= 1 || b.strides[2] == 1) && (out.sizes[2] <= 1 || out.strides[2] == 1);
    gemm_.m = swaps_ ? 1 : out.sizes[2];
    gemm_.n = swaps_ ? out.sizes[2] : out.sizes[3];
    gemm_.lda = a.strides[2];
    gemm_.rhs = swaps_ || is_transposed() ? F32Gemm::Rhs::Transposed : F32Gemm::Rhs::Rows;
    gemm_.ldb = swaps_ ? a.strides[2] : is_transposed() ? b.strides[3] : b.strides[2];
    gemm_.ldc = out.strides[2];
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t batch = out_->sizes[0] * out_->sizes[1];
    if (out_->numel() == 0) return Error::Ok;
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    const int64_t step = microkernels::column_step(*kernels_);
    const int64_t panels = divide_up(gemm_.n, step);
    const int64_t parts = batch % workers == 0 ? 1 : std::min(workers, panels);
    for_workers(run.context, workers, batch * parts, [&](int64_t worker, int64_t begin, int64_t end) {
      float* scratch = run.scratch + worker * worker_floats();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts;
        microkernels::F32Gemm gemm = gemm_;
        gemm.a = matrix_of(swaps_ ? *b_ : *a_, i / parts);
        gemm.b = matrix_of(swaps_ ? *a_ : *b_, i / parts);
        gemm.c = matrix_of(*out_, i / parts);
        const int64_t begin_column = panels * part / parts * step;
        const int64_t end_column = std::min(gemm.n, panels * (part + 1) / parts * step);
        if (microkernels::has_few_rows(gemm)) {
          microkernels::multiply_few_rows(*kernels_, gemm, begin_column, end_column);
        } else {
          microkernels::multiply(*kernels_, gemm, 0, gemm.m, begin_column, end_column, scratch);
        }
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "matrix multiplication"; }
  int64_t work() const override { return 2 * out_->numel() * gemm_.k; }

 private:
  // The shapes are a [n, m, rows, depth], b [n, m, depth, columns] and output [n, m, rows, columns].
  bool have_matching_shapes() const {
    const View &a = *a_, &b = *b_, &out = *out_;
    return a.rank == 4 && b.rank == 4 && out.rank == 4 && std::equal(a.sizes, a.sizes + 3, out.sizes) &&
           std::equal(b.sizes, b.sizes + 2, out.sizes) && b.sizes[3] == out.sizes[3] && a.sizes[3] == b.sizes[2];
  }
  // The rows of a and of the output are contiguous, and either the rows or the columns of b.
  bool have_supported_strides() const {
    const View &a = *a_, &b = *b_, &out = *out_;
    return (a.sizes[3] <= 1 || a.strides[3] == 1) && (out.sizes[3] <= 1 || out.strides[3] == 1) &&
           (!is_transposed() || b.sizes[2] <= 1 || b.strides[2] == 1);
  }
  // Returns whether the rows of b are not contiguous, so that its columns must be.
  bool is_transposed() const { return b_->sizes[3] > 1 && b_->strides[3] != 1; }
  int64_t worker_floats() const { return round_up(microkernels::gemm_scratch(*kernels_, gemm_.k, gemm_.n), 16); }
  // Returns the first element of matrix `index` of a batch.
  static float* matrix_of(const View& view, int64_t index) {
    return view.floats() + index / view.sizes[1] * view.strides[0] + index % view.sizes[1] * view.strides[1];
  }

  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* a_ = nullptr;
  const View* b_ = nullptr;
  const View* out_ = nullptr;
  microkernels::F32Gemm gemm_{};
  bool swaps_ = false;  // whether the step computes the transposed product, output^T = b^T a^T
};

}  // namespace

Result<Step*> make_step(const schema::MatMul& op, Binder& binder) { return binder.bind<MatMulStep>(op); }

}  // namespace rushlight::cpu
