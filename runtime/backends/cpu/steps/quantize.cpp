// Quantizes floats to int8, with constant quantization parameters or with parameters that are chosen at run time.
// Dequantizes int8 to floats.
#include <algorithm>
#include <atomic>

#include "backends/cpu/int8.h"
#include "backends/cpu/loops.h"
#include "core/quantization_params.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kBlock = 1024;  // numbers that are converted at a time

// Quantizes or dequantizes with constant parameters.
class StaticQuantizeStep final : public Step {
 public:
  explicit StaticQuantizeStep(bool quantizes) : quantizes_(quantizes) {}

  Error bind(const schema::Quantize& op, Binder& binder) {
    RL_ASSIGN(range_, range_of(op.range()));
    scale_ = op.scale();
    in_ = binder.input_of(op.input(), ScalarType::Float);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    return binder.error();
  }
  Error bind(const schema::Dequantize& op, Binder& binder) {
    range_.zero = op.zero_point();
    scale_ = op.scale();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Float);
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->has_sizes_of(*out_), InvalidProgram, "the shapes of the operands of a conversion do not match");
    // The loops have the order of the floats, which have four times as many bytes as the int8 numbers.
    const View* const views[] = {quantizes_ ? in_ : out_, quantizes_ ? out_ : in_};
    loops_ = make_loops(views, 2);
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * kWorkerFloats); }

  Error run(Run& run) override {
    if (out_->numel() == 0) return Error::Ok;
    const int64_t inner = loops_.inner(), rows = loops_.outer(), blocks = divide_up(inner, kBlock);
    const int64_t workers = out_->numel() < kSerialWork ? 1 : run.workers;
    // Rows whose int8 numbers are interleaved in memory are converted together, so that workers write to different
    // cache lines.
    const bool are_interleaved = loops_.inner_stride(1) != 1;
    for_workers(run.context, workers, rows * blocks, [&](int64_t worker, int64_t begin, int64_t end) {
      float* const scratch = run.scratch + worker * kWorkerFloats;
      for (int64_t i = begin; i < end; ++i) {
        if (quantizes_ && i % rows == 0 && i + 3 <= end && are_three_channels(rows)) {
          const int64_t first = i / rows * kBlock;
          quantize_three_rows(first, std::min(kBlock, inner - first), reinterpret_cast<int8_t*>(scratch));
          i += 2;
          continue;
        }
        const int64_t block = are_interleaved ? i / rows : i % blocks;
        const int64_t first = block * kBlock;
        convert(are_interleaved ? i % rows : i / blocks, first, std::min(kBlock, inner - first), scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return quantizes_ ? "quantization" : "dequantization"; }
  int64_t work() const override { return out_->numel(); }

 private:
  // The scratch memory of a worker: kBlock floats, then kBlock int8 numbers.
  static constexpr int64_t kWorkerFloats = kBlock + kBlock / 4;

  // Returns whether there are three rows of floats whose int8 numbers are interleaved, such as the three channels of an
  // image.
  bool are_three_channels(int64_t rows) const {
    return rows == 3 && loops_.inner_stride(0) == 1 && loops_.inner_stride(1) == 3 &&
           loops_.row(1, 1) - loops_.row(1, 0) == 1 && loops_.row(1, 2) - loops_.row(1, 0) == 2;
  }

  // Quantizes n elements of each of the three rows, from element `first` on.
  void quantize_three_rows(int64_t first, int64_t n, int8_t* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    for (int64_t row = 0; row < 3; ++row) {
      const float* const from = in_->floats() + loops_.row(0, row) + first;
      // Prefetches the next floats of the row, because hardware prefetchers do not predict these addresses.
      const int64_t end = std::min(2 * n, loops_.inner() - first);
      for (int64_t i = n; i < end; i += 64 / int64_t{sizeof(float)}) __builtin_prefetch(from + i);
      t.quantize(from, n, range_, 1.0f / scale_, reinterpret_cast<uint8_t*>(scratch + row * kBlock));
    }
    t.loops.interleave_3(scratch, kBlock, n, static_cast<int8_t*>(out_->data) + loops_.row(1, 0) + first * 3);
  }

  // Converts n elements of a row, from element `first` on. Elements that are not contiguous are first copied to, or
  // last copied from, the scratch memory.
  void convert(int64_t row, int64_t first, int64_t n, float* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t float_step = loops_.inner_stride(0), byte_step = loops_.inner_stride(1);
    float* const floats = (quantizes_ ? in_ : out_)->floats() + loops_.row(0, row) + first * float_step;
    int8_t* const bytes =
        static_cast<int8_t*>((quantizes_ ? out_ : in_)->data) + loops_.row(1, row) + first * byte_step;
    float* const own_floats = float_step == 1 || n == 1 ? floats : scratch;
    int8_t* const own_bytes = byte_step == 1 || n == 1 ? bytes : reinterpret_cast<int8_t*>(scratch + kBlock);
    if (quantizes_) {
      if (own_floats != floats) {
        for (int64_t i = 0; i < n; ++i) own_floats[i] = floats[i * float_step];
      }
      t.quantize(own_floats, n, range_, 1.0f / scale_, reinterpret_cast<uint8_t*>(own_bytes));
      if (own_bytes != bytes) {
        for (int64_t i = 0; i < n; ++i) bytes[i * byte_step] = own_bytes[i];
      }
      return;
    }
    if (own_bytes != bytes) {
      for (int64_t i = 0; i < n; ++i) own_bytes[i] = bytes[i * byte_step];
    }
    t.loops.expand(own_bytes, n, range_.zero, scale_, own_floats);
    if (own_floats != floats) {
      for (int64_t i = 0; i < n; ++i) floats[i * float_step] = own_floats[i];
    }
  }

  const bool quantizes_;
  microkernels::Int8Range range_{};
  float scale_ = 1;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  Loops loops_;
};

using schema::QuantizationChoice;

class DynamicQuantizeStep final : public Step {
 public:
  Error bind(const schema::DynamicQuantize& op, Binder& binder) {
    choice_ = op.choice();
    least_ = op.low();
    most_ = op.high();
    RL_REQUIRE(least_ < most_, InvalidProgram, "the range of a dynamic quantization is empty: from %d to %d", op.low(),
               op.high());
    eps_ = op.epsilon();
    in_ = binder.input(op.input());
    out_ = binder.output_of(op.output(), ScalarType::Char);
    scales_ = binder.output(op.scale());
    zeros_ = binder.output_of(op.zero_point(), ScalarType::Int);
    return binder.error();
  }

  Error prepare() override {
    const bool fits = in_->rank == 2 && out_->rank == 2 && scales_->rank == 1 && zeros_->rank == 1 &&
                      in_->sizes[0] == out_->sizes[0] && in_->sizes[1] == out_->sizes[1] &&
                      scales_->sizes[0] == (is_by_row() ? in_->sizes[0] : 1) && zeros_->sizes[0] == scales_->sizes[0] &&
                      is_dense(*in_) && is_dense(*out_) && is_dense(*scales_) && is_dense(*zeros_);
    RL_REQUIRE(fits, InvalidProgram, "the shapes or strides of the operands of a dynamic quantization do not match");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * kWorkerFloats); }

  Error run(Run& run) override {
    const int64_t rows = in_->sizes[0], depth = in_->sizes[1];
    if (rows == 0 || depth == 0) return Error::Ok;
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t workers = in_->numel() < kSerialWork ? 1 : run.workers;
    const quantized::Affine whole = is_by_row() ? quantized::Affine{} : choose_for_tensor(run, workers);
    if (!is_by_row()) set_params(0, whole);
    for_workers(run.context, workers, rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* const row = in_->floats() + i * depth;
        const quantized::Affine params = is_by_row() ? choose_for_row(row) : whole;
        if (is_by_row()) set_params(i, params);
        const microkernels::Int8Range range{static_cast<int32_t>(params.zero), static_cast<int32_t>(least_),
                                            static_cast<int32_t>(most_)};
        t.loops.quantize(row, depth, 1.0f / static_cast<float>(params.scale), range,
                         static_cast<int8_t*>(out_->data) + i * depth);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "dynamic quantization"; }
  int64_t work() const override { return in_->numel(); }

 private:
  // Whether each row has a scale and a zero point of its own.
  bool is_by_row() const { return choice_ >= QuantizationChoice::PER_TOKEN; }

  // Returns the quantization parameters for numbers with these extremes.
  quantized::Affine choose(const quantized::Extremes& extremes) const {
    if (choice_ == QuantizationChoice::PER_TOKEN) return quantized::choose_token_affine(extremes.least, extremes.most);
    const double epsilon = static_cast<double>(eps_);
    return choice_ == QuantizationChoice::ASYMMETRIC
               ? quantized::choose_affine(extremes, ScalarType::Float, least_, most_, epsilon)
               : quantized::choose_symmetric(extremes, ScalarType::Float, least_, most_, epsilon, ScalarType::Char);
  }

  quantized::Affine choose_for_row(const float* row) const {
    quantized::Extremes extremes{0, 0};
    const auto find_extremes = microkernels::int8_microkernels().extremes;
    if (!find_extremes(row, in_->sizes[1], &extremes.least, &extremes.most)) extremes = {NAN, NAN};
    return choose(extremes);
  }

  quantized::Affine choose_for_tensor(Run& run, int64_t workers) const {
    const int64_t depth = in_->sizes[1];
    // The extremes of each worker are in a cache line of their own.
    const auto extremes_of = [&](int64_t worker) { return run.scratch + worker * kWorkerFloats; };
    for (int64_t w = 0; w < workers; ++w) extremes_of(w)[0] = extremes_of(w)[1] = 0;
    std::atomic<bool> has_nan{false};
    for_workers(run.context, workers, in_->sizes[0], [&](int64_t w, int64_t begin, int64_t end) {
      float* const own = extremes_of(w);
      const float* const rows = in_->floats() + begin * depth;
      if (!microkernels::int8_microkernels().extremes(rows, (end - begin) * depth, own, own + 1)) has_nan = true;
    });
    quantized::Extremes extremes{0, 0};
    for (int64_t w = 0; w < workers; ++w) {
      extremes.least = std::min(extremes.least, extremes_of(w)[0]);
      extremes.most = std::max(extremes.most, extremes_of(w)[1]);
    }
    if (has_nan) extremes = {NAN, NAN};
    return choose(extremes);
  }

  // Writes the outputs for the scale and the zero point `index`.
  void set_params(int64_t index, const quantized::Affine& params) const {
    scales_->floats()[index] = quantized::scale_of_sums(params);
    static_cast<int32_t*>(zeros_->data)[index] = static_cast<int32_t>(params.zero);
  }

  static constexpr int64_t kWorkerFloats = 16;  // a cache line

  QuantizationChoice choice_ = QuantizationChoice::ASYMMETRIC;
  int64_t least_ = 0, most_ = 0;
  float eps_ = 0;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  const View* scales_ = nullptr;
  const View* zeros_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Quantize& op, Binder& binder) {
  return binder.bind<StaticQuantizeStep>(op, true);
}

Result<Step*> make_step(const schema::Dequantize& op, Binder& binder) {
  return binder.bind<StaticQuantizeStep>(op, false);
}

Result<Step*> make_step(const schema::DynamicQuantize& op, Binder& binder) {
  return binder.bind<DynamicQuantizeStep>(op);
}

}  // namespace rushlight::cpu
