// int8 convolutions and GEMMs with constant matrices. The sums are requantized to int8, or converted to floats.
#include "backends/cpu/int8.h"
#include "microkernels/conv/int8_packed.h"
#include "microkernels/gemm/int8_small_sums.h"

namespace rushlight::cpu {

namespace {

using microkernels::Int8Microkernels;
using microkernels::PackedInt8Conv;

class Int8GemmStep final : public Step {
 public:
  Error bind(const schema::Int8Gemm& op, Binder& binder) {
    PackedInt8Conv& c = convolution_;
    c.f32_kernels = &binder.kernels();
    c.window = window_of(op.window());
    c.groups = op.groups(), c.channels = op.channels(), c.outputs = op.outputs();
    c.zero = op.input_zero_point();
    RL_ASSIGN(c.range, range_of(op.range()));
    c.epilogue = binder.epilogue(op.epilogue());
    in_ = binder.input_of(op.input(), ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(c.depth() < int64_t{1} << 30, InvalidProgram, "the sums of an int8 GEMM have too many terms");
    c.weights = small_sums(op, binder);
    if (c.weights == nullptr) {
      c.weights = binder.packed_int8(op.weight(), op.packing(), c.groups, c.depth(), c.outputs);
    }
    c.offsets = binder.optional_constant(op.offset(), c.groups * c.outputs);
    c.multipliers = binder.constant(op.multiplier(), c.groups * c.outputs);
    out_ = binder.any_output(op.output());
    if (op.row_scale().has_value()) {
      row_scales_ = binder.input(op.row_scale());
      row_zeros_ = binder.input_of(op.row_zero_point(), ScalarType::Int);
    }
    RL_TRY(binder.error());
    c.gives_floats = out_->dtype == ScalarType::Float;
    RL_REQUIRE(c.gives_floats || (out_->dtype == ScalarType::Char && !row_scales_), InvalidProgram,
               "an int8 GEMM does not support %s results", dtype_name(out_->dtype));
    if (op.residual().has_value()) residual_ = binder.input_of(op.residual(), out_->dtype);
    return c.gives_floats ? binder.error() : bind_int8_results(op, binder);
  }

  Error prepare() override {
    PackedInt8Conv& c = convolution_;
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == c.groups * c.channels && out_->sizes[3] == c.groups * c.outputs, InvalidProgram,
               "the channels of the operands of an int8 GEMM do not match");
    RL_REQUIRE(c.prepare(in_->sizes, out_->sizes), InvalidProgram, "the window of an int8 convolution is too large");
    if (residual_) RL_TRY(require_residual(*residual_, *out_));
    if (row_scales_ == nullptr) return Error::Ok;
    RL_REQUIRE(c.is_pointwise() && are_row_parameters(*row_scales_, *row_zeros_, c.pixels()), InvalidProgram,
               "the shapes of the row scales and row zero points of an int8 GEMM do not match its input");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers) * convolution_.worker_bytes() / sizeof(float);
  }

  Error run(Run& run) override {
    PackedInt8Conv::Operands operands;
    operands.in = in_->data, operands.in_mask = in_->sign_mask;
    operands.out = out_->data, operands.out_mask = out_->sign_mask;
    if (residual_) operands.residual = residual_->data, operands.residual_mask = residual_->sign_mask;
    if (row_scales_) {
      operands.row_scales = row_scales_->floats();
      operands.row_zeros = static_cast<const int32_t*>(row_zeros_->data);
      operands.scale_rows = row_scales_->sizes[0];
    }
    convolution_.run(run.context, run.workers, operands, run.scratch, run.next);
    return Error::Ok;
  }

  microkernels::FirstWeights first_weights(int64_t workers) const override {
    return convolution_.first_weights(workers);
  }

  const char* name() const override {
    return convolution_.window.kernel_h * convolution_.window.kernel_w > 1 ? "int8 convolution" : "int8 GEMM";
  }
  // Operands in unsigned form need no conversion if the microkernels read their LHS in this form.
  bool supports_unsigned(const View& view) const override {
    return convolution_.kernels->lhs_offset == 0x80 && convolution_.kernels->lhs_size == 1 &&
           (&view == in_ || &view == residual_ || &view == out_);
  }
  int64_t work() const override { return convolution_.work(); }

 private:
  Error bind_int8_results(const schema::Int8Gemm& op, Binder& binder) {
    PackedInt8Conv& c = convolution_;
    if (residual_) {
      RL_ASSIGN(c.sum, sum_of(op.sum(), c.range.zero));
    }
    int32_t* const corrections = binder.array<int32_t>(static_cast<size_t>(c.groups * c.outputs));
    RL_TRY(binder.error());
    for (int64_t g = 0; g < c.groups; ++g) {
      microkernels::zero_corrections(*c.kernels, c.matrix(g), c.outputs, c.zero, nullptr, corrections + g * c.outputs);
    }
    c.corrections = corrections;
    return Error::Ok;
  }

  // If the microkernels for small sums are faster for these weights and support the plan's packing, selects them and
  // returns the weights in the plan. Otherwise returns null.
  const uint8_t* small_sums(const schema::Int8Gemm& op, Binder& binder) {
    PackedInt8Conv& c = convolution_;
    const Int8Microkernels& own = *c.kernels;
    const Int8Microkernels* const set = microkernels::small_sum_microkernels(own, microkernels::SmallSums::Pairs);
    if (set == nullptr || int64_t{op.packing().lanes()} != set->lanes || int64_t{op.packing().group()} != set->group ||
        int64_t{op.packing().panel()} != column_step(*set) || c.outputs * c.depth() > (int64_t{1} << 40) / c.groups) {
      return nullptr;
    }
    const int64_t size = round_up(static_cast<int64_t>(microkernels::packed_rhs_size(*set, c.outputs, c.depth())), 64);
    const int8_t* const from = binder.int8_constant(op.weight(), c.groups * size);
    if (from == nullptr) return nullptr;
    // With fewer terms, pairs are faster, because their tiles have more rows.
    constexpr int64_t kMinQuadDepth = 48;
    microkernels::SmallSums sums =
        c.depth() < kMinQuadDepth ? microkernels::SmallSums::Pairs : microkernels::SmallSums::Quads;
    for (int64_t g = 0; g < c.groups; ++g) {
      sums = std::min(sums, microkernels::small_sums(*set, from + g * size, c.outputs, c.depth()));
    }
    const Int8Microkernels* const fastest = microkernels::small_sum_microkernels(own, sums);
    if (fastest == nullptr) return nullptr;
    c.kernels = fastest;
    return reinterpret_cast<const uint8_t*>(from);
  }

  PackedInt8Conv convolution_;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* row_scales_ = nullptr;
  const View* row_zeros_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Gemm& op, Binder& binder) {
  RL_ASSIGN(Step* const winograd, make_int8_winograd(op, binder));
  return winograd ? winograd : binder.bind<Int8GemmStep>(op);
}

}  // namespace rushlight::cpu
