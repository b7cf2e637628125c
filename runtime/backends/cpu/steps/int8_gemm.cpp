// Convolutions and products with constant matrices over int8, whose sums become int8 again, or floats.
#include <cmath>

#include "backends/cpu/int8.h"
#include "microkernels/gemm/int8.h"
#include "microkernels/gemm/int8_small_sums.h"

namespace rushlight::cpu {

namespace {

using microkernels::Int8Microkernels;

constexpr int64_t kTailFloats = 64 * 1024;  // of results

class Int8GemmStep final : public Step {
 public:
  Error bind(const schema::Int8Gemm& op, Binder& binder) {
    window_ = window_of(op.window());
    groups_ = op.groups();
    channels_ = op.channels();
    outputs_ = op.outputs();
    zero_ = op.input_zero_point();
    RL_ASSIGN(range_, range_of(op.range()));
    epilogue_ = epilogue_of(op.epilogue());
    floats_ = &binder.tiles();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    RL_TRY(binder.error());
    depth_ = window_.kernel_h * window_.kernel_w * channels_;
    RL_REQUIRE(depth_ < int64_t{1} << 30, InvalidProgram, "an 8-bit product is too deep");
    weights_ = small_sums(op, binder);
    if (weights_ == nullptr) weights_ = binder.packed_bytes(op.weight(), op.packing(), groups_, depth_, outputs_);
    const int64_t count = groups_ * outputs_;
    offsets_ = binder.optional_constant(op.offset(), count);
    multipliers_ = binder.constant(op.multiplier(), count);
    out_ = binder.any_output(op.output());
    if (op.row_scale().has_value()) {
      row_scales_ = binder.input(op.row_scale());
      row_zeros_ = binder.input_of(op.row_zero_point(), ScalarType::Int);
    }
    RL_TRY(binder.error());
    is_float_ = out_->dtype == ScalarType::Float;
    RL_REQUIRE(is_float_ || (out_->dtype == ScalarType::Char && !row_scales_), InvalidProgram,
               "an 8-bit product cannot give %s", dtype_name(out_->dtype));
    if (op.residual().has_value()) residual_ = binder.input_of(op.residual(), out_->dtype);
    if (is_float_) return binder.error();
    if (residual_) {
      RL_ASSIGN(sum_, sum_of(op.sum(), range_.zero));
    }
    corrections_ = binder.array<int32_t>(static_cast<size_t>(count));
    RL_TRY(binder.error());
    for (int64_t g = 0; g < groups_; ++g) {
      microkernels::zero_corrections(*tiles_, matrix(g), outputs_, zero_, nullptr, corrections_ + g * outputs_);
    }
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == groups_ * channels_ && out_->sizes[3] == groups_ * outputs_, InvalidProgram,
               "an 8-bit product has the wrong channels");
    pixels_ = out_->sizes[0] * out_->sizes[1] * out_->sizes[2];
    bytes_ = window_of(window_, *in_, *out_, zero_);
    const double most = static_cast<double>(window_.kernel_h) * static_cast<double>(channels_) *
                        (static_cast<double>(out_->sizes[2]) * static_cast<double>(window_.stride_w) +
                         static_cast<double>(window_.kernel_w * window_.dilation_w));
    RL_REQUIRE(most < 1e9, InvalidProgram, "the window of an 8-bit convolution is too large");
    if (residual_) RL_TRY(require_residual(*residual_, *out_));
    if (row_scales_ == nullptr) return Error::Ok;
    RL_REQUIRE(row_scales_->rank == 1 && row_zeros_->rank == 1 && row_scales_->sizes[0] == row_zeros_->sizes[0] &&
                   (row_scales_->sizes[0] == 1 || row_scales_->sizes[0] == pixels_) && is_dense(*row_scales_) &&
                   is_dense(*row_zeros_) && bytes_.is_pointwise(),
               InvalidProgram, "the scales of rows do not fit");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const Int8Microkernels& t = *tiles_;
    const int64_t step = microkernels::column_step(t);
    bytes_.in = static_cast<const uint8_t*>(in_->data), bytes_.sign_mask = in_->sign_mask;
    const int64_t workers = workers_of(run.workers);
    // At the end of a worker's own share.
    const auto ahead = [&](int64_t worker, int64_t end, int64_t count) {
      return end == count * (worker + 1) / workers ? run.next.of(worker, workers) : microkernels::Ahead{};
    };
    if (!is_by_columns(workers)) {
      const int64_t tiles_down = divide_up(pixels_, t.rows);
      const int64_t least = std::max<int64_t>(1, microkernels::kLeastRows / t.rows);
      microkernels::for_sharing_workers(
          run.context, workers, tiles_down, least, [&](int64_t worker, int64_t begin, int64_t end) {
            float* const scratch = run.scratch + worker * worker_floats();
            for (int64_t g = 0; g < groups_; ++g) {
              multiply(g, begin * t.rows, std::min(end * t.rows, pixels_), 0, outputs_, scratch,
                       g + 1 == groups_ ? ahead(worker, end, tiles_down) : microkernels::Ahead{});
            }
          });
    } else {
      const int64_t panels = divide_up(outputs_, step);
      for_workers(run.context, workers, panels, [&](int64_t worker, int64_t begin, int64_t end) {
        multiply(0, 0, pixels_, begin * step, std::min(end * step, outputs_), run.scratch + worker * worker_floats(),
                 ahead(worker, end, panels));
      });
    }
    return Error::Ok;
  }

  microkernels::FirstWeights first_weights(int64_t workers) const override {
    const int64_t step = microkernels::column_step(*tiles_);
    return {microkernels::panels_of(matrix(0), outputs_), round_up(depth_, tiles_->group) * std::min(step, outputs_),
            is_by_columns(workers_of(workers)) ? divide_up(outputs_, step) : 1};
  }

  const char* name() const override {
    return window_.kernel_h * window_.kernel_w > 1 ? "8-bit convolution" : "8-bit product";
  }
  // Products of numbers in that form are those of rows as they lie.
  bool takes_unsigned(const View& view) const override {
    return tiles_->lhs_offset == 0x80 && tiles_->lhs_size == 1 && (&view == in_ || &view == residual_ || &view == out_);
  }
  int64_t work() const override { return 2 * pixels_ * groups_ * outputs_ * depth_; }

 private:
  // The weights as they lie in the plan, if another set of tiles is faster for such numbers and takes them so.
  const uint8_t* small_sums(const schema::Int8Gemm& op, Binder& binder) {
    const Int8Microkernels* const set = microkernels::small_sum_microkernels(*tiles_, microkernels::SmallSums::Pairs);
    if (set == nullptr || int64_t{op.packing().lanes()} != set->lanes || int64_t{op.packing().group()} != set->group ||
        int64_t{op.packing().panel()} != column_step(*set) || outputs_ * depth_ > (int64_t{1} << 40) / groups_) {
      return nullptr;
    }
    const int64_t size = round_up(static_cast<int64_t>(microkernels::packed_rhs_size(*set, outputs_, depth_)), 64);
    const int8_t* const from = binder.bytes(op.weight(), groups_ * size);
    if (from == nullptr) return nullptr;
    microkernels::SmallSums sums = microkernels::SmallSums::Quads;
    for (int64_t g = 0; g < groups_; ++g) {
      sums = std::min(sums, microkernels::small_sums(*set, from + g * size, outputs_, depth_));
    }
    const Int8Microkernels* const fastest = microkernels::small_sum_microkernels(*tiles_, sums);
    if (fastest == nullptr) return nullptr;
    tiles_ = fastest;
    return reinterpret_cast<const uint8_t*>(from);
  }

  int64_t workers_of(int64_t workers) const { return work() < kSerialWork ? 1 : workers; }
  bool is_by_columns(int64_t workers) const { return pixels_ < 2 * tiles_->rows * workers && groups_ == 1; }
  int64_t product_floats() const {
    return round_up(static_cast<int64_t>(microkernels::product_scratch(*tiles_, depth_)), 64) / 4;
  }
  int64_t worker_floats() const {
    const size_t left =
        microkernels::Int8LhsPacker::scratch_bytes(*tiles_, bytes_, channels_, outputs_, reads_in_place());
    return product_floats() + round_up(static_cast<int64_t>(left), 64) / 4;
  }
  bool reads_in_place() const { return !is_float_ && out_->sizes[0] == 1; }
  const uint8_t* matrix(int64_t group) const {
    return weights_ +
           group * round_up(static_cast<int64_t>(microkernels::packed_rhs_size(*tiles_, outputs_, depth_)), 64);
  }
  bool adds_later() const { return residual_ && residual_->data != out_->data; }

  void multiply(int64_t group, int64_t begin, int64_t end, int64_t n0, int64_t n1, float* scratch,
                const microkernels::Ahead& ahead) const {
    const int64_t first = group * outputs_;
    microkernels::Int8Product p{};
    p.m = pixels_, p.n = outputs_;
    microkernels::Int8LhsPacker left;
    left.set(&p, *tiles_, bytes_, group * channels_, channels_, reads_in_place(), begin, end,
             reinterpret_cast<uint8_t*>(scratch + product_floats()));
    p.rhs = matrix(group);
    p.ahead = static_cast<const int8_t*>(ahead.from), p.ahead_bytes = ahead.bytes;
    p.out_stride = groups_ * outputs_;
    const float* const multiplier = multipliers_ + first;
    const float* const offset = offsets_ ? offsets_ + first : nullptr;
    static constexpr float kOne = 1;
    if (!is_float_) {
      p.out_kind = microkernels::Int8Product::Out::Bytes;
      p.requantize = {corrections_ + first, multiplier, offset, range_.zero, range_.least, range_.most, sum_};
      microkernels::Int8Sum& sum = p.requantize.sum;
      if (residual_) {
        sum.others = static_cast<const int8_t*>(residual_->data) + first, sum.sign_mask = residual_->sign_mask;
        sum.range.zero += out_->sign_mask, sum.range.least += out_->sign_mask, sum.range.most += out_->sign_mask;
      } else {
        p.requantize.zero += out_->sign_mask, p.requantize.least += out_->sign_mask,
            p.requantize.most += out_->sign_mask;
      }
      p.out = static_cast<uint8_t*>(out_->data) + first;
    } else {
      p.out_kind = microkernels::Int8Product::Out::Floats;
      p.multiplier = multiplier, p.offset = offset;
      p.zeros = row_zeros_ ? static_cast<const int32_t*>(row_zeros_->data) : &zero_;
      p.scales = row_scales_ ? row_scales_->floats() : &kOne;
      p.row_step = row_scales_ && row_scales_->sizes[0] == pixels_ ? 1 : 0;
      // A residual that lies where the results go is added as they are stored.
      p.accumulate = residual_ && residual_->data == out_->data;
      const bool clamps = epilogue_.clamps && !adds_later();
      p.least = clamps ? epilogue_.low : -INFINITY;
      p.most = clamps ? epilogue_.high : INFINITY;
      p.out = out_->floats() + first;
    }
    if (is_float_ && adds_later()) return multiply_and_add(p, first, begin, end, n0, n1, scratch);
    const auto apply = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      float* const to = static_cast<float*>(p.out) + row * p.out_stride + column;
      floats_->packed->apply(epilogue_, to, p.out_stride, rows, columns);
    };
    if (is_float_ && epilogue_.applies) {
      p.finish_context = &apply;
      p.finish = [](const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
        (*static_cast<decltype(&apply)>(context))(row, rows, column, columns);
      };
    }
    microkernels::multiply(*tiles_, p, begin, end, n0, n1, scratch);
  }

  // Residual, clamp and operator take so many rows at once that they are still in a second level cache.
  void multiply_and_add(const microkernels::Int8Product& p, int64_t first, int64_t begin, int64_t end, int64_t n0,
                        int64_t n1, float* scratch) const {
    const int64_t most = std::max<int64_t>(kTailFloats / (n1 - n0) / tiles_->rows, 4) * tiles_->rows;
    microkernels::Int8Product part = p;
    for (int64_t row = begin; row < end; row += most) {
      const int64_t rows = std::min(most, end - row);
      part.ahead = row + rows == end ? p.ahead : nullptr;
      microkernels::multiply(*tiles_, part, row, row + rows, n0, n1, scratch);
      if (p.out_stride == n1 - n0) {
        finish(row * p.out_stride, rows * p.out_stride);
      } else {
        for (int64_t i = row; i < row + rows; ++i) finish(i * p.out_stride + first + n0, n1 - n0);
      }
    }
  }

  // Residual, clamp and operator over `count` floats.
  void finish(int64_t at, int64_t count) const {
    const microkernels::Epilogue& e = epilogue_;
    float* const to = out_->floats() + at;
    floats_->binary(microkernels::BinaryOp::Add, to, 1, residual_->floats() + at, 1, to, count, 0);
    if (e.clamps) floats_->unary(microkernels::UnaryOp::Clamp, to, to, count, e.low, e.high);
    if (e.applies) floats_->unary(e.op, to, to, count, e.p, e.q);
  }

  Window window_{};
  int64_t groups_ = 1, channels_ = 1, outputs_ = 1, depth_ = 1, pixels_ = 0;
  int32_t zero_ = 0;
  microkernels::Int8Range range_{};
  microkernels::Int8Sum sum_{};
  microkernels::Epilogue epilogue_{};
  microkernels::Int8Window bytes_{};
  const microkernels::F32Microkernels* floats_ = nullptr;
  const Int8Microkernels* tiles_ = &microkernels::int8_microkernels();
  const uint8_t* weights_ = nullptr;
  const float* offsets_ = nullptr;
  const float* multipliers_ = nullptr;
  int32_t* corrections_ = nullptr;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* row_scales_ = nullptr;
  const View* row_zeros_ = nullptr;
  const View* out_ = nullptr;
  bool is_float_ = false;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Gemm& op, Binder& binder) {
  RL_ASSIGN(Step* const fewer, make_int8_winograd(op, binder));
  return fewer ? fewer : binder.bind<Int8GemmStep>(op);
}

}  // namespace rushlight::cpu
