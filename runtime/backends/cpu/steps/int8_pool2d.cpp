// Pooling of channels-last images of int8.
#include <algorithm>
#include <cstring>

#include "backends/cpu/int8.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMostTaps = 1 << 14;

class Int8Pool2dStep final : public Step {
 public:
  Error bind(const schema::Int8Pool2d& op, Binder& binder) {
    const schema::Pooling pooling = op.pooling();
    window_ = window_of(pooling.window());
    maximum_ = pooling.is_maximum();
    divisor_ = pooling.divisor();
    counts_padding_ = pooling.counts_padding();
    zero_ = op.input_zero_point();
    RL_ASSIGN(range_, range_of(op.range()));
    ratio_ = op.factor();
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(taps() <= kMostTaps, InvalidProgram, "a pooling's window is too large");
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == out_->sizes[3], InvalidProgram, "operands of a pooling do not fit");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t lines = out_->sizes[0] * out_->sizes[1];
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, lines, [&](int64_t worker, int64_t begin, int64_t end) {
      float* const scratch = run.scratch + worker * worker_floats();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / out_->sizes[1], y = i % out_->sizes[1];
        maximum_ ? maxima(image, y, scratch) : means(image, y, scratch);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "8-bit pooling"; }
  int64_t work() const override { return out_->numel() * taps(); }

 private:
  int64_t taps() const { return window_.kernel_h * window_.kernel_w; }
  // Sources of a window; the maxima of lines, or sums, corrections and multipliers of the channels.
  int64_t worker_floats() const {
    const int64_t channels = in_->sizes[3];
    return round_up(taps() * 2, 16) +
           round_up(maximum_ ? in_->sizes[2] * channels / 4 + 1 : 3 * round_up(channels, 16), 16);
  }
  const int8_t* image_at(int64_t image) const {
    return static_cast<const int8_t*>(in_->data) + image * in_->sizes[1] * in_->sizes[2] * in_->sizes[3];
  }
  int8_t* line_at(int64_t image, int64_t y) const {
    return static_cast<int8_t*>(out_->data) + (image * out_->sizes[1] + y) * out_->sizes[2] * out_->sizes[3];
  }

  // Of the lines of a window first, which are whole, then of their pixels.
  void maxima(int64_t image, int64_t y, float* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t height = in_->sizes[1], width = in_->sizes[2], channels = in_->sizes[3];
    const int8_t** const sources = reinterpret_cast<const int8_t**>(scratch);
    int8_t* const line = reinterpret_cast<int8_t*>(scratch + round_up(taps() * 2, 16));
    const int8_t* const data = image_at(image);
    int8_t* to = line_at(image, y);
    int64_t count = 0;
    for (int64_t ky = 0, v = y * window_.stride_h - window_.pad_h; ky < window_.kernel_h;
         ++ky, v += window_.dilation_h) {
      if (v >= 0 && v < height) sources[count++] = data + v * width * channels;
    }
    // A line alone is read where it lies.
    const int8_t* const from = count == 1 ? sources[0] : line;
    if (from == line) t.loops.maximum(sources, count, width * channels, range_.least, range_.most, line);
    for (int64_t x = 0; x < out_->sizes[2]; ++x, to += channels) {
      count = 0;
      for (int64_t kx = 0, u = x * window_.stride_w - window_.pad_w; kx < window_.kernel_w;
           ++kx, u += window_.dilation_w) {
        if (u >= 0 && u < width) sources[count++] = from + u * channels;
      }
      t.loops.maximum(sources, count, channels, range_.least, range_.most, to);
    }
  }

  void means(int64_t image, int64_t y, float* scratch) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t height = in_->sizes[1], width = in_->sizes[2], channels = in_->sizes[3];
    const int8_t** const sources = reinterpret_cast<const int8_t**>(scratch);
    int32_t* const sums = reinterpret_cast<int32_t*>(scratch + round_up(taps() * 2, 16));
    int32_t* const corrections = sums + round_up(channels, 16);
    float* const multipliers = reinterpret_cast<float*>(corrections + round_up(channels, 16));
    const int8_t* const data = image_at(image);
    int8_t* to = line_at(image, y);
    const int64_t top = y * window_.stride_h - window_.pad_h;
    int64_t last_count = -1, last_divisor = -1;
    for (int64_t x = 0; x < out_->sizes[2]; ++x, to += channels) {
      const int64_t left = x * window_.stride_w - window_.pad_w;
      int64_t count = 0;
      for (int64_t ky = 0; ky < window_.kernel_h; ++ky) {
        const int64_t v = top + ky * window_.dilation_h;
        if (v < 0 || v >= height) continue;
        for (int64_t kx = 0; kx < window_.kernel_w; ++kx) {
          const int64_t u = left + kx * window_.dilation_w;
          if (u >= 0 && u < width) sources[count++] = data + (v * width + u) * channels;
        }
      }
      const int64_t by = divisor(top, left, count);
      if (count != last_count || by != last_divisor) {
        std::fill_n(corrections, channels, static_cast<int32_t>(-zero_ * count));
        std::fill_n(multipliers, channels, ratio_ / static_cast<float>(by));
        last_count = count, last_divisor = by;
      }
      std::memset(sums, 0, static_cast<size_t>(channels) * sizeof(int32_t));
      for (int64_t i = 0; i < count; ++i) t.loops.add_rows(sources[i], 1, channels, channels, sums);
      t.requantize({corrections, multipliers, nullptr, range_.zero, range_.least, range_.most},
                   {sums, channels, 1, channels, channels}, reinterpret_cast<uint8_t*>(to));
    }
  }

  int64_t divisor(int64_t top, int64_t left, int64_t count) const {
    if (divisor_ > 0) return divisor_;
    if (!counts_padding_) return std::max<int64_t>(count, 1);
    // Of the window, what lies in the padded image.
    const int64_t rows = std::min(top + window_.kernel_h, in_->sizes[1] + window_.pad_h) - top;
    const int64_t columns = std::min(left + window_.kernel_w, in_->sizes[2] + window_.pad_w) - left;
    return std::max<int64_t>(1, rows * columns);
  }

  Window window_{};
  bool maximum_ = false, counts_padding_ = false;
  int64_t divisor_ = 0;
  int32_t zero_ = 0;
  microkernels::Int8Range range_{};
  float ratio_ = 1;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Int8Pool2d& op, Binder& binder) { return binder.bind<Int8Pool2dStep>(op); }

}  // namespace rushlight::cpu
