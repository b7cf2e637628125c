// Pooling of channels-last images.
#include <algorithm>
#include <limits>

#include "backends/cpu/image.h"

namespace rushlight::cpu {

namespace {

class Pool2dStep final : public Step {
 public:
  Error bind(const schema::Pool2d& op, Binder& binder) {
    const schema::Pooling pooling = op.pooling();
    window_ = window_of(pooling.window());
    maximum_ = pooling.is_maximum();
    divisor_ = pooling.divisor();
    counts_padding_ = pooling.counts_padding();
    tiles_ = &binder.tiles();
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
                  const float** sources = reinterpret_cast<const float**>(run.scratch + worker * worker_floats());
                  for (int64_t i = begin; i < end; ++i) line(i / out_->sizes[1], i % out_->sizes[1], sources);
                });
    return Error::Ok;
  }

  const char* name() const override { return "pooling"; }
  int64_t work() const override { return out_->numel() * window_.kernel_h * window_.kernel_w; }

 private:
  // The taps [first, last) of a window that are inside of the image along one axis.
  struct Taps {
    int64_t first, last;
    Taps(int64_t start, int64_t kernel, int64_t dilation, int64_t size)
        : first(start < 0 ? std::min(kernel, divide_up(-start, dilation)) : 0),
          last(start < size ? std::max(first, std::min(kernel, divide_up(size - start, dilation))) : first) {}
  };

  // Floats of scratch memory for a pointer to each pixel of a window.
  int64_t worker_floats() const {
    return round_up(2 * std::min(window_.kernel_h, in_->sizes[1]) * std::min(window_.kernel_w, in_->sizes[2]), 16);
  }

  void line(int64_t image, int64_t y, const float** sources) const {
    const View& in = *in_;
    const int64_t top = y * window_.stride_h - window_.pad_h;
    const Taps rows(top, window_.kernel_h, window_.dilation_h, in.sizes[1]);
    for (int64_t x = 0; x < out_->sizes[2]; ++x) {
      const int64_t left = x * window_.stride_w - window_.pad_w;
      const Taps columns(left, window_.kernel_w, window_.dilation_w, in.sizes[2]);
      int64_t count = 0;
      for (int64_t ky = rows.first; ky < rows.last; ++ky) {
        const int64_t v = top + ky * window_.dilation_h;
        for (int64_t kx = columns.first; kx < columns.last; ++kx) {
          const int64_t u = left + kx * window_.dilation_w;
          sources[count++] = in.floats() + image * in.strides[0] + v * in.strides[1] + u * in.strides[2];
        }
      }
      float* to = out_->floats() + image * out_->strides[0] + y * out_->strides[1] + x * out_->strides[2];
      if (count == 0) {
        std::fill_n(to, in.sizes[3], maximum_ ? -std::numeric_limits<float>::infinity() : 0.0f);
        continue;
      }
      tiles_->packed->pool(maximum_, sources, count, in.sizes[3], 1.0f / static_cast<float>(divisor(top, left, count)),
                           to);
    }
  }

  int64_t divisor(int64_t top, int64_t left, int64_t count) const {
    if (divisor_ > 0) return divisor_;
    if (!counts_padding_) return count;
    // The size of the part of the window that is inside of the padded image.
    const int64_t rows = std::min(top + window_.kernel_h, in_->sizes[1] + window_.pad_h) - top;
    const int64_t columns = std::min(left + window_.kernel_w, in_->sizes[2] + window_.pad_w) - left;
    return std::max<int64_t>(1, rows * columns);
  }

  Window window_{};
  bool maximum_ = false, counts_padding_ = false;
  int64_t divisor_ = 0;
  const microkernels::F32Microkernels* tiles_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_step(const schema::Pool2d& op, Binder& binder) { return binder.bind<Pool2dStep>(op); }

}  // namespace rushlight::cpu
