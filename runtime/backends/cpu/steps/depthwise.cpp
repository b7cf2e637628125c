// Depthwise convolution of channels-last images.
#include <algorithm>
#include <cstring>

#include "backends/cpu/image.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kMostKernel = 64;

// values: input [n, h, w, c], weights [kh, kw, c], bias, output; ints: window (8), then the epilogue.
class DepthwiseStep final : public Step {
 public:
  Error bind(Binder& binder) {
    window_ = read_window(binder, 0);
    epilogue_ = binder.epilogue(8, 0);
    tiles_ = &binder.tiles();
    in_ = binder.input(0);
    out_ = binder.output(3);
    RL_TRY(binder.error());
    channels_ = in_->rank == 4 ? in_->sizes[3] : 0;
    weights_ = binder.constant(1, window_.kernel_h * window_.kernel_w * channels_);
    bias_ = binder.optional_constant(2, channels_);
    zeros_ = binder.array<float>(static_cast<size_t>(channels_ + 16));
    RL_REQUIRE(window_.kernel_h <= kMostKernel && window_.kernel_w <= kMostKernel, InvalidProgram,
               "a depthwise convolution has a window of %lld x %lld", static_cast<long long>(window_.kernel_h),
               static_cast<long long>(window_.kernel_w));
    RL_TRY(binder.error());
    std::memset(zeros_, 0, static_cast<size_t>(channels_ + 16) * sizeof(float));
    return Error::Ok;
  }

  Error prepare() override {
    const View& in = *in_;
    const View& out = *out_;
    RL_REQUIRE(in.rank == 4 && out.rank == 4 && in.sizes[0] == out.sizes[0] && in.sizes[3] == channels_ &&
                   out.sizes[3] == channels_ && (channels_ == 1 || (in.strides[3] == 1 && out.strides[3] == 1)),
               InvalidProgram, "operands of a depthwise convolution do not fit");
    // Outputs whose whole window lies within the columns of the input.
    const int64_t reach = (window_.kernel_w - 1) * window_.dilation_w;
    inside_begin_ = std::min(out.sizes[2], divide_up(window_.pad_w, window_.stride_w));
    const int64_t last = in.sizes[2] - 1 - reach + window_.pad_w;  // largest x * stride
    inside_end_ = last < 0 ? inside_begin_ : std::min(out.sizes[2], last / window_.stride_w + 1);
    inside_end_ = std::max(inside_begin_, inside_end_);
    return Error::Ok;
  }

  Error run(Run& run) override {
    const int64_t lines = out_->sizes[0] * out_->sizes[1];
    for_workers(run.context, work() / 2 < kSerialWork ? 1 : run.workers, lines,
                [&](int64_t, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) line(i / out_->sizes[1], i % out_->sizes[1]);
                });
    return Error::Ok;
  }

  const char* name() const override { return "depthwise convolution"; }
  int64_t work() const override { return 2 * out_->numel() * window_.kernel_h * window_.kernel_w; }

 private:
  void line(int64_t image, int64_t y) const {
    const View& in = *in_;
    const View& out = *out_;
    float* to = out.floats() + image * out.strides[0] + y * out.strides[1];
    const int64_t top = y * window_.stride_h - window_.pad_h;
    const float* lines[kMostKernel];
    int64_t first = 0;  // rows of the window before the image
    while (first < window_.kernel_h && top + first * window_.dilation_h < 0) ++first;
    int64_t count = 0;
    for (int64_t ky = first; ky < window_.kernel_h && top + ky * window_.dilation_h < in.sizes[1]; ++ky) {
      lines[count++] = in.floats() + image * in.strides[0] + (top + ky * window_.dilation_h) * in.strides[1];
    }
    const float* weights = weights_ + first * window_.kernel_w * channels_;
    for (int64_t x = 0; x < inside_begin_; ++x) edge(lines, count, weights, x, to);
    if (inside_end_ > inside_begin_) {
      const float* shifted[kMostKernel];
      const int64_t left = inside_begin_ * window_.stride_w - window_.pad_w;
      for (int64_t i = 0; i < count; ++i) shifted[i] = lines[i] + left * in.strides[2];
      tiles::DepthwiseRun run{};
      run.lines = shifted;
      run.column_step = in.strides[2];
      run.kernel_h = count;
      run.kernel_w = window_.kernel_w;
      run.stride = window_.stride_w;
      run.dilation = window_.dilation_w;
      run.weights = weights;
      run.weight_step = window_.kernel_w * channels_;
      run.bias = bias_;
      run.channels = channels_;
      run.out = to + inside_begin_ * out.strides[2];
      run.out_step = out.strides[2];
      run.outputs = inside_end_ - inside_begin_;
      run.clamps = epilogue_.clamps;
      run.low = epilogue_.low;
      run.high = epilogue_.high;
      tiles_->packed->depthwise(run);
    }
    for (int64_t x = inside_end_; x < out.sizes[2]; ++x) edge(lines, count, weights, x, to);
    if (!epilogue_.applies) return;
    if (out.strides[2] == channels_ || out.sizes[2] == 1) {
      tiles_->unary(epilogue_.op, to, to, out.sizes[2] * channels_, epilogue_.p, epilogue_.q);
      return;
    }
    for (int64_t x = 0; x < out.sizes[2]; ++x, to += out.strides[2]) {
      tiles_->unary(epilogue_.op, to, to, channels_, epilogue_.p, epilogue_.q);
    }
  }

  // An output whose window leaves the image at a side: a window of the columns that exist.
  void edge(const float* const* lines, int64_t count, const float* weights, int64_t x, float* line) const {
    const View& in = *in_;
    const int64_t left = x * window_.stride_w - window_.pad_w;
    int64_t first = 0;
    while (first < window_.kernel_w && left + first * window_.dilation_w < 0) ++first;
    int64_t columns = 0;
    while (first + columns < window_.kernel_w && left + (first + columns) * window_.dilation_w < in.sizes[2]) ++columns;
    const float* shifted[kMostKernel];
    for (int64_t i = 0; i < count; ++i) {
      shifted[i] = columns > 0 ? lines[i] + (left + first * window_.dilation_w) * in.strides[2] : zeros_;
    }
    tiles::DepthwiseRun run{};
    run.lines = shifted;
    run.column_step = in.strides[2];
    run.kernel_h = count;
    run.kernel_w = columns;
    run.stride = 1;
    run.dilation = window_.dilation_w;
    run.weights = weights + first * channels_;
    run.weight_step = window_.kernel_w * channels_;
    run.bias = bias_;
    run.channels = channels_;
    run.out = line + x * out_->strides[2];
    run.out_step = out_->strides[2];
    run.outputs = 1;
    run.clamps = epilogue_.clamps;
    run.low = epilogue_.low;
    run.high = epilogue_.high;
    tiles_->packed->depthwise(run);
  }

  Window window_{};
  tiles::Epilogue epilogue_;
  const tiles::Tiles* tiles_ = nullptr;
  const View* in_ = nullptr;
  const View* out_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  float* zeros_ = nullptr;
  int64_t channels_ = 0;
  int64_t inside_begin_ = 0, inside_end_ = 0;
};

}  // namespace

Result<Step*> make_depthwise(Binder& binder) {
  DepthwiseStep* step = binder.make<DepthwiseStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
