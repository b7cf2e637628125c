// Resizes images: nearest pixel, bilinear (four pixels) or bicubic (16 pixels).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "core/transpose.h"

namespace rushlight::cpu {

namespace {

using schema::Interpolation;

// The two inputs next to an output along an axis, and the weight of the second one: output = (1 - share) * first +
// share * second.
struct Place {
  int64_t first, second;
  float share;
};

// The positions and weights of four neighboring inputs.
struct Taps {
  int64_t at[4];
  float weight[4];
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
    pixel_step_ = has_planes_ ? out_.sizes[3] : out_.strides[2];
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
    const int64_t height = out_.sizes[1];
    for_workers(run.context, out_.numel() < kSerialWork ? 1 : run.workers, out_.sizes[0] * height,
                [&](int64_t worker, int64_t begin, int64_t end) {
                  float* const row = run.scratch + worker * worker_floats();
                  float* const line = row + row_floats();
                  Taps* const columns = reinterpret_cast<Taps*>(line + line_floats());
                  for (int64_t x = 0; is_cubic() && x < out_.sizes[2]; ++x) {
                    columns[x] = taps(x, scale_w_, in_.sizes[2]);
                  }
                  for (int64_t i = begin; i < end; ++i) {
                    const float* image = in_.data + i / height * in_.strides[0];
                    float* const place = out_.data + i / height * out_.strides[0] + i % height * out_.strides[1];
                    float* const to = has_planes_ ? row : place;
                    if (mode_ == Interpolation::NEAREST) {
                      nearest(image, i % height, to);
                    } else if (is_cubic()) {
                      between_four(image, i % height, columns, line, to);
                    } else {
                      between(image, i % height, line, to);
                    }
                    if (has_planes_) transpose(row, pixel_step_, out_.sizes[2], pixel_step_, place, out_.strides[3]);
                  }
                });
    return Error::Ok;
  }

  const char* name() const override { return "resize"; }
  int64_t work() const override { return mode_ == Interpolation::NEAREST ? 0 : (is_cubic() ? 8 : 4) * out_.numel(); }

 private:
  // Returns the size of a buffer for one output row with interleaved channels, in floats. It is needed only if each
  // channel of the output is a separate plane; otherwise returns 0.
  int64_t row_floats() const { return has_planes_ ? round_up(out_.sizes[2] * pixel_step_, 16) : 0; }
  int64_t line_floats() const {
    return mode_ == Interpolation::NEAREST ? 0 : round_up(in_.sizes[2] * in_.sizes[3], 16);
  }

  int64_t worker_floats() const {
    constexpr int64_t kTapFloats = sizeof(Taps) / sizeof(float);
    return row_floats() + line_floats() + (is_cubic() ? round_up(out_.sizes[2] * kTapFloats, 16) : 0);
  }

  bool is_cubic() const { return mode_ == Interpolation::BICUBIC || mode_ == Interpolation::BICUBIC_ALIGN_CORNERS; }

  int64_t index(int64_t at, float scale, int64_t size) const {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(at) * scale)), size - 1);
  }

  Place place(int64_t at, float scale, int64_t size) const {
    const float x = mode_ == Interpolation::BILINEAR_ALIGN_CORNERS
                        ? scale * static_cast<float>(at)
                        : std::max(0.0f, scale * (static_cast<float>(at) + 0.5f) - 0.5f);
    const int64_t first = std::min(static_cast<int64_t>(x), size - 1);
    const int64_t second = scale == 1 ? first : std::min(first + 1, size - 1);  // an axis of equal size is copied
    return {first, second, std::clamp(x - static_cast<float>(first), 0.0f, 1.0f)};
  }

  void nearest(const float* image, int64_t y, float* to) const {
    const int64_t channels = in_.sizes[3];
    const float* line = image + index(y, scale_h_, in_.sizes[1]) * in_.strides[1];
    for (int64_t x = 0; x < out_.sizes[2]; ++x, to += pixel_step_) {
      std::memcpy(to, line + index(x, scale_w_, in_.sizes[2]) * in_.strides[2],
                  static_cast<size_t>(channels) * sizeof(float));
    }
  }

  static void mix(const float* a, const float* b, float share, int64_t n, float* __restrict to) {
    const float rest = 1.0f - share;
    for (int64_t i = 0; i < n; ++i) to[i] = rest * a[i] + share * b[i];
  }

  void between(const float* image, int64_t y, float* line, float* to) const {
    const int64_t channels = in_.sizes[3], width = in_.sizes[2];
    const Place rows = place(y, scale_h_, in_.sizes[1]);
    const float* upper = image + rows.first * in_.strides[1];
    const float* lower = image + rows.second * in_.strides[1];
    if (in_.strides[2] == channels) {
      mix(upper, lower, rows.share, width * channels, line);
    } else {
      for (int64_t x = 0; x < width; ++x) {
        mix(upper + x * in_.strides[2], lower + x * in_.strides[2], rows.share, channels, line + x * channels);
      }
    }
    for (int64_t x = 0; x < out_.sizes[2]; ++x, to += pixel_step_) {
      const Place columns = place(x, scale_w_, width);
      mix(line + columns.first * channels, line + columns.second * channels, columns.share, channels, to);
    }
  }

  Taps taps(int64_t at, float scale, int64_t size) const {
    const float x = mode_ == Interpolation::BICUBIC_ALIGN_CORNERS ? scale * static_cast<float>(at)
                                                                  : scale * (static_cast<float>(at) + 0.5f) - 0.5f;
    const int64_t first = std::min(static_cast<int64_t>(std::floor(x)), size - 1);
    const float share = std::clamp(x - static_cast<float>(first), 0.0f, 1.0f);
    Taps taps;
    for (int64_t j = 0; j < 4; ++j) {
      taps.at[j] = std::clamp<int64_t>(first + j - 1, 0, size - 1);
      taps.weight[j] = cubic(share - static_cast<float>(j - 1));
    }
    return taps;
  }

  static void mix(const float* from, const Taps& taps, int64_t stride, int64_t n, float* __restrict to) {
    const float *const a = from + taps.at[0] * stride, *const b = from + taps.at[1] * stride;
    const float *const c = from + taps.at[2] * stride, *const d = from + taps.at[3] * stride;
    const float u = taps.weight[0], v = taps.weight[1], w = taps.weight[2], z = taps.weight[3];
    for (int64_t i = 0; i < n; ++i) to[i] = (u * a[i] + v * b[i]) + (w * c[i] + z * d[i]);
  }

  void between_four(const float* image, int64_t y, const Taps* columns, float* line, float* to) const {
    const int64_t channels = in_.sizes[3], width = in_.sizes[2];
    const Taps rows = taps(y, scale_h_, in_.sizes[1]);
    if (in_.strides[2] == channels) {
      mix(image, rows, in_.strides[1], width * channels, line);
    } else {
      for (int64_t x = 0; x < width; ++x) {
        mix(image + x * in_.strides[2], rows, in_.strides[1], channels, line + x * channels);
      }
    }
    for (int64_t x = 0; x < out_.sizes[2]; ++x, to += pixel_step_) mix(line, columns[x], channels, channels, to);
  }

  Interpolation mode_ = Interpolation::NEAREST;
  float scale_h_ = 1, scale_w_ = 1;
  const View* in_view_ = nullptr;
  const View* out_view_ = nullptr;
  Image in_, out_;
  bool has_planes_ = false;  // each channel of the output is a separate plane
  int64_t pixel_step_ = 0;   // floats between consecutive pixels of a computed row
};

}  // namespace

Result<Step*> make_step(const schema::Resize2d& op, Binder& binder) { return binder.bind<Resize2dStep>(op); }

}  // namespace rushlight::cpu
