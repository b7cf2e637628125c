// Resizes images: nearest pixel, bilinear (four pixels) or bicubic (16 pixels).
#include <algorithm>
#include <cmath>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "core/move_bytes.h"
#include "core/transpose.h"

namespace rushlight::cpu {

namespace {

using schema::Interpolation;

constexpr int64_t kMaxTaps = 4;

// The inputs along an axis from which an output is computed, and their weights. Bilinear resizes use two of them.
struct Taps {
  int64_t at[kMaxTaps];
  float weight[kMaxTaps];
};

// Weight of an input at distance x. Source: Keys, "Cubic convolution interpolation for digital image processing", 1981.
float cubic(float x) {
  constexpr float a = -0.75f;
  x = std::fabs(x);
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
}

class Resize2dStep final : public Step {
 public:
  Error bind(const schema::Resize2d& op, Binder& binder) {
    mode_ = op.interpolation();
    scale_h_ = op.scale_h();
    scale_w_ = op.scale_w();
    in_view_ = binder.input(op.input());
    out_view_ = binder.output(op.output());
    RL_TRY(binder.error());
    RL_REQUIRE(scale_h_ >= 0 && scale_w_ >= 0 && std::isfinite(scale_h_) && std::isfinite(scale_w_), InvalidProgram,
               "the scale of a resize is negative or not finite");
    return Error::Ok;
  }

  Error prepare() override {
    RL_ASSIGN(in_, image_of(*in_view_));
    RL_ASSIGN(out_, image_of(*out_view_));
    has_planes_ = !out_.has_channels_last();
    RL_REQUIRE(in_.sizes[0] == out_.sizes[0] && in_.sizes[3] == out_.sizes[3] && in_.has_channels_last() &&
                   (!has_planes_ || out_.strides[2] == 1) && (out_.numel() == 0 || in_.numel() > 0),
               InvalidProgram, "the shapes or strides of the operands of a resize do not match");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    if (out_.numel() == 0) return Error::Ok;
    in_.data = in_view_->floats();
    out_.data = out_view_->floats();
    for_workers(run.context, out_.numel() < kSerialWork ? 1 : run.workers, out_.sizes[0] * out_.sizes[1],
                [&](int64_t worker, int64_t begin, int64_t end) {
                  float* const scratch = run.scratch + worker * worker_floats();
                  mode_ == Interpolation::NEAREST ? copy_rows(begin, end, scratch) : mix_rows(begin, end, scratch);
                });
    return Error::Ok;
  }

  const char* name() const override { return "resize"; }
  int64_t work() const override { return mode_ == Interpolation::NEAREST ? 0 : (is_cubic() ? 8 : 4) * out_.numel(); }

 private:
  bool is_cubic() const { return mode_ == Interpolation::BICUBIC || mode_ == Interpolation::BICUBIC_ALIGN_CORNERS; }
  bool aligns_corners() const {
    return mode_ == Interpolation::BILINEAR_ALIGN_CORNERS || mode_ == Interpolation::BICUBIC_ALIGN_CORNERS;
  }

  // Number of inputs along each axis from which an output is computed.
  int64_t tap_count() const { return mode_ == Interpolation::NEAREST ? 1 : is_cubic() ? 4 : 2; }

  // The scratch memory of a worker: the taps of the columns, an output row for each tap, and a row before its
  // transposition. Nearest pixels need only the last one.
  int64_t row_floats() const { return round_up(out_.sizes[2] * out_.sizes[3], 16); }
  int64_t column_floats() const {
    constexpr int64_t kTapFloats = sizeof(Taps) / sizeof(float);
    return round_up(out_.sizes[2] * kTapFloats, 16);
  }
  int64_t worker_floats() const {
    const int64_t transposed = has_planes_ ? row_floats() : 0;
    return mode_ == Interpolation::NEAREST ? transposed : column_floats() + tap_count() * row_floats() + transposed;
  }

  // Returns an output row. `row` counts the rows of all images.
  float* place_of(int64_t row) const {
    const int64_t height = out_.sizes[1];
    return out_.data + row / height * out_.strides[0] + row % height * out_.strides[1];
  }

  // Returns the largest integer that is not larger than x, but at least `low` and at most `high`. Returns `low` for
  // NaN, which a damaged plan can give.
  static int64_t floor_within(float x, int64_t low, int64_t high) {
    if (!(x >= static_cast<float>(low))) return low;
    return x < static_cast<float>(high) ? static_cast<int64_t>(std::floor(x)) : high;
  }

  // Returns the nearest input of output `at` along an axis.
  int64_t nearest_index(int64_t at, float scale, int64_t size) const {
    return floor_within(static_cast<float>(at) * scale, 0, size - 1);
  }

  // Copies the nearest pixels of output rows [begin, end).
  void copy_rows(int64_t begin, int64_t end, float* scratch) const {
    const int64_t height = out_.sizes[1];
    for (int64_t row = begin; row < end; ++row) {
      const float* const image = in_.data + row / height * in_.strides[0];
      float* const place = place_of(row);
      if (has_planes_) {
        const int64_t channels = out_.sizes[3];
        copy_row(image, row % height, scratch, channels);
        transpose(scratch, channels, out_.sizes[2], channels, place, out_.strides[3]);
      } else {
        copy_row(image, row % height, place, out_.strides[2]);
      }
    }
  }

  // Copies the nearest pixels of an output row, whose pixels are `step` floats apart.
  void copy_row(const float* image, int64_t y, float* to, int64_t step) const {
    const int64_t channels = in_.sizes[3];
    const float* line = image + nearest_index(y, scale_h_, in_.sizes[1]) * in_.strides[1];
    for (int64_t x = 0; x < out_.sizes[2]; ++x, to += step) {
      move_bytes(to, line + nearest_index(x, scale_w_, in_.sizes[2]) * in_.strides[2],
                 static_cast<size_t>(channels) * sizeof(float));
    }
  }

  // Returns the two or four taps of output `at` along an axis.
  Taps taps(int64_t at, float scale, int64_t size) const {
    const float middle = scale * (static_cast<float>(at) + 0.5f) - 0.5f;
    const float x = aligns_corners() ? scale * static_cast<float>(at) : is_cubic() ? middle : std::max(0.0f, middle);
    const int64_t first = floor_within(x, -1, size - 1);
    const float share = std::clamp(x - static_cast<float>(first), 0.0f, 1.0f);
    if (!is_cubic()) {
      const int64_t second = scale == 1 ? first : std::min(first + 1, size - 1);  // an axis of equal size is copied
      return {{first, second}, {1.0f - share, share}};
    }
    Taps taps;
    for (int64_t j = 0; j < kMaxTaps; ++j) {
      taps.at[j] = std::clamp<int64_t>(first + j - 1, 0, size - 1);
      taps.weight[j] = cubic(share - static_cast<float>(j - 1));
    }
    return taps;
  }

  // Computes output rows: first the input rows of the taps with the width of the output, then the sums of these. The
  // next output rows mostly use the same input rows.
  void mix_rows(int64_t begin, int64_t end, float* scratch) const {
    const int64_t height = out_.sizes[1], width = out_.sizes[2], channels = out_.sizes[3], count = tap_count();
    Taps* const columns = reinterpret_cast<Taps*>(scratch);
    for (int64_t x = 0; x < width; ++x) columns[x] = taps(x, scale_w_, in_.sizes[2]);
    float* const widened = scratch + column_floats();
    int64_t stored[kMaxTaps] = {-1, -1, -1, -1};  // which input row `widened` contains at each place
    for (int64_t row = begin; row < end; ++row) {
      const Taps lines = taps(row % height, scale_h_, in_.sizes[1]);
      const float* from[kMaxTaps] = {};
      for (int64_t j = 0; j < count; ++j) {
        // The taps are among `count` consecutive rows, so that each of them has a place of its own.
        const int64_t image = row / height, line = lines.at[j], place = line % count;
        float* const to = widened + place * row_floats();
        if (stored[place] != image * in_.sizes[1] + line) {
          const float* const input = in_.data + image * in_.strides[0] + line * in_.strides[1];
          float* const interleaved = has_planes_ ? widened + count * row_floats() : to;
          widen(input, columns, interleaved);
          if (has_planes_) transpose(interleaved, channels, width, channels, to, width);
          stored[place] = image * in_.sizes[1] + line;
        }
        from[j] = to;
      }
      mix_row(from, lines, place_of(row));
    }
  }

  // Computes the columns of the output from a row of the input.
  void widen(const float* input, const Taps* columns, float* to) const {
    for (int64_t x = 0; x < out_.sizes[2]; ++x, to += in_.sizes[3]) {
      const float* from[kMaxTaps] = {};
      for (int64_t j = 0; j < tap_count(); ++j) from[j] = input + columns[x].at[j] * in_.strides[2];
      mix(from, columns[x], 0, in_.sizes[3], to);
    }
  }

  // Adds up rows. Their pixels are contiguous, or their planes if each channel of the output is a plane.
  void mix_row(const float* const* from, const Taps& lines, float* to) const {
    const int64_t channels = out_.sizes[3], width = out_.sizes[2];
    if (has_planes_) {
      for (int64_t c = 0; c < channels; ++c) mix(from, lines, c * width, width, to + c * out_.strides[3]);
    } else if (out_.strides[2] == channels) {
      mix(from, lines, 0, width * channels, to);
    } else {
      for (int64_t x = 0; x < width; ++x) mix(from, lines, x * channels, channels, to + x * out_.strides[2]);
    }
  }

  // Computes n weighted sums, of elements [start, start + n) of each row.
  void mix(const float* const* from, const Taps& taps, int64_t start, int64_t n, float* __restrict to) const {
    const float *const a = from[0] + start, *const b = from[1] + start;
    const float u = taps.weight[0], v = taps.weight[1];
    if (is_cubic()) {
      const float *const c = from[2] + start, *const d = from[3] + start;
      const float w = taps.weight[2], z = taps.weight[3];
      for (int64_t i = 0; i < n; ++i) to[i] = (u * a[i] + v * b[i]) + (w * c[i] + z * d[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = u * a[i] + v * b[i];
    }
  }

  Interpolation mode_ = Interpolation::NEAREST;
  float scale_h_ = 1, scale_w_ = 1;
  const View* in_view_ = nullptr;
  const View* out_view_ = nullptr;
  Image in_, out_;
  bool has_planes_ = false;  // each channel of the output is a separate plane
};

}  // namespace

Result<Step*> make_step(const schema::Resize2d& op, Binder& binder) { return binder.bind<Resize2dStep>(op); }

}  // namespace rushlight::cpu
