// Pooling of channels-last images.
#include <algorithm>
#include <limits>

#include "backends/cpu/image.h"
#include "microkernels/pool/axis.h"

namespace rushlight::cpu {

namespace {

using microkernels::PoolAxis;
using microkernels::PooledPixels;

class Pool2dStep final : public Step {
 public:
  Error bind(const schema::Pool2d& op, Binder& binder) {
    const schema::Pooling pooling = op.pooling();
    window_ = window_of(pooling.window());
    maximum_ = pooling.is_maximum();
    divisor_ = pooling.divisor();
    counts_padding_ = pooling.counts_padding();
    kernels_ = &binder.kernels();
    in_ = binder.input(op.input());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(in_->rank == 4 && out_->rank == 4 && in_->sizes[0] == out_->sizes[0] &&
                   in_->sizes[3] == out_->sizes[3] &&
                   (in_->sizes[3] == 1 || (in_->strides[3] == 1 && out_->strides[3] == 1)),
               InvalidProgram, "the shapes or strides of the operands of a pooling do not match");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t lines = out_->sizes[0] * out_->sizes[1];
    for_workers(run.context, work() < kSerialWork ? 1 : run.workers, lines,
                [&](int64_t worker, int64_t begin, int64_t end) {
                  float* const scratch = run.scratch + worker * worker_floats();
                  for (int64_t i = begin; i < end; ++i) compute_line(i / out_->sizes[1], i % out_->sizes[1], scratch);
                });
    return Error::Ok;
  }

  const char* name() const override { return "pooling"; }
  int64_t work() const override { return out_->numel() * window_.kernel_h * window_.kernel_w; }

 private:
  PoolAxis height() const {
    return {in_->sizes[1], out_->sizes[1], window_.kernel_h, window_.stride_h, window_.pad_h, window_.dilation_h};
  }
  PoolAxis width() const {
    return {in_->sizes[2], out_->sizes[2], window_.kernel_w, window_.stride_w, window_.pad_w, window_.dilation_w};
  }

  // The scratch memory of a worker contains pointers to the lines or columns of a window, and a line of the image.
  int64_t pointer_floats() const {
    const int64_t rows = std::min(window_.kernel_h, in_->sizes[1]), columns = std::min(window_.kernel_w, in_->sizes[2]);
    return round_up(2 * std::max(rows, columns), 16);
  }
  int64_t worker_floats() const { return pointer_floats() + round_up(in_->sizes[2] * in_->sizes[3], 16); }

  // Computes a line of results: first the maxima or sums over the lines of the windows, for each pixel of a line, and
  // then those along this line.
  void compute_line(int64_t image, int64_t y, float* scratch) const {
    const View &in = *in_, &out = *out_;
    const PoolAxis axis = width();
    const int64_t channels = in.sizes[3], top = height().start(y);
    const PoolAxis::Taps rows = height().taps(y);
    const float** const sources = reinterpret_cast<const float**>(scratch);
    float* const sums = scratch + pointer_floats();
    PooledPixels pixels{};
    pixels.is_maximum = maximum_;
    pixels.sources = sources;
    pixels.channels = channels;
    for (int64_t ky = rows.first; ky < rows.last; ++ky) {
      sources[pixels.count++] = in.floats() + image * in.strides[0] + (top + ky * window_.dilation_h) * in.strides[1];
    }
    // If there is only one line, it is read in place.
    const float* from = pixels.count == 1 ? sources[0] : sums;
    const int64_t step = pixels.count == 1 ? in.strides[2] : channels;
    if (pixels.count > 1) {
      pixels.in_step = in.strides[2], pixels.out_step = channels;
      pixels.pixels = in.sizes[2];
      pixels.scale = 1.0f;
      pixels.out = sums;
      pool(pixels);
    }
    pixels.in_step = window_.stride_w * step, pixels.out_step = out.strides[2];
    for (int64_t x = 0; x < out.sizes[2]; x += pixels.pixels) {
      const PoolAxis::Taps columns = axis.taps(x);
      pixels.out = out.floats() + image * out.strides[0] + y * out.strides[1] + x * out.strides[2];
      if (rows.count() == 0 || columns.count() == 0) {
        pixels.pixels = 1;
        std::fill_n(pixels.out, channels, maximum_ ? -std::numeric_limits<float>::infinity() : 0.0f);
        continue;
      }
      pixels.count = 0;
      for (int64_t kx = columns.first; kx < columns.last; ++kx) {
        sources[pixels.count++] = from + (axis.start(x) + kx * window_.dilation_w) * step;
      }
      pixels.pixels = axis.similar_windows(x);
      pixels.scale = 1.0f / static_cast<float>(divisor(y, x, rows.count() * columns.count()));
      pool(pixels);
    }
  }

  // Adjacent pixels are computed as one pixel with all their channels.
  void pool(PooledPixels pixels) const {
    if (pixels.in_step == pixels.channels && pixels.out_step == pixels.channels) {
      pixels.channels *= pixels.pixels, pixels.pixels = 1;
    }
    kernels_->packed->pool(pixels);
  }

  // Returns the divisor of an average. `count` is the number of taps inside the image.
  int64_t divisor(int64_t y, int64_t x, int64_t count) const {
    if (divisor_ > 0) return divisor_;
    if (!counts_padding_) return count;
    return std::max<int64_t>(1, height().padded_taps(y) * width().padded_taps(x));
  }

  Window window_{};
  bool maximum_ = false, counts_padding_ = false;
  int64_t divisor_ = 0;
  const microkernels::F32Microkernels* kernels_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Pool2d& op, Binder& binder) { return binder.bind<Pool2dStep>(op); }

}  // namespace rushlight::cpu
