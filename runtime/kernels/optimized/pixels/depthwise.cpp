#include "kernels/optimized/pixels/depthwise.h"

#include <algorithm>

#include "kernels/optimized/workers.h"
#include "rushlight/core/error.h"

namespace rushlight::optimized {

Error PackedDepthwise::prepare(const Image& in, const Image& out) {
  RL_REQUIRE(window.kernel_h <= kMostRows, InvalidProgram, "a depthwise convolution has a window of %lld rows",
             static_cast<long long>(window.kernel_h));
  RL_REQUIRE(in.sizes[0] == out.sizes[0] && in.sizes[3] == channels && out.sizes[3] == channels &&
                 in.has_channels_last() && out.has_channels_last(),
             InvalidProgram, "operands of a depthwise convolution do not fit");
  in_ = in;
  out_ = out;
  // Outputs whose whole window lies within the columns of the input.
  const int64_t reach = (window.kernel_w - 1) * window.dilation_w;
  inside_begin_ = std::min(out.sizes[2], divide_up(window.pad_w, window.stride_w));
  const int64_t last = in.sizes[2] - 1 - reach + window.pad_w;  // largest x * stride
  inside_end_ = last < 0 ? inside_begin_ : std::min(out.sizes[2], last / window.stride_w + 1);
  inside_end_ = std::max(inside_begin_, inside_end_);
  return Error::Ok;
}

void PackedDepthwise::run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out) {
  in_.data = const_cast<float*>(in);
  out_.data = out;
  if (work() / 2 < kSerialWork) workers = 1;
  for_workers(context, workers, out_.sizes[0] * out_.sizes[1], [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / out_.sizes[1], y = i % out_.sizes[1];
      line(in_.data + image * in_.strides[0], in_.sizes[1], y,
           out_.data + image * out_.strides[0] + y * out_.strides[1], out_.strides[2]);
    }
  });
}

void PackedDepthwise::line(const float* image, int64_t ring, int64_t y, float* to, int64_t step) const {
  const Image& in = in_;
  const Image& out = out_;
  const int64_t top = y * window.stride_h - window.pad_h;
  const float* lines[kMostRows];
  int64_t first = 0;  // rows of the window before the image
  while (first < window.kernel_h && top + first * window.dilation_h < 0) ++first;
  int64_t count = 0;
  for (int64_t ky = first; ky < window.kernel_h && top + ky * window.dilation_h < in.sizes[1]; ++ky) {
    lines[count++] = image + (top + ky * window.dilation_h) % ring * in.strides[1];
  }
  const float* first_weights = weights + first * window.kernel_w * channels;
  for (int64_t x = 0; x < inside_begin_; ++x) edge(lines, count, first_weights, x, to + x * step);
  if (inside_end_ > inside_begin_) {
    const float* shifted[kMostRows];
    const int64_t left = inside_begin_ * window.stride_w - window.pad_w;
    for (int64_t i = 0; i < count; ++i) shifted[i] = lines[i] + left * in.strides[2];
    tiles::DepthwiseRun run{};
    run.lines = shifted;
    run.column_step = in.strides[2];
    run.kernel_h = count;
    run.kernel_w = window.kernel_w;
    run.stride = window.stride_w;
    run.dilation = window.dilation_w;
    run.weights = first_weights;
    run.weight_step = window.kernel_w * channels;
    run.bias = bias;
    run.channels = channels;
    run.out = to + inside_begin_ * step;
    run.out_step = step;
    run.outputs = inside_end_ - inside_begin_;
    run.clamps = epilogue.clamps;
    run.low = epilogue.low;
    run.high = epilogue.high;
    tiles->packed->depthwise(run);
  }
  for (int64_t x = inside_end_; x < out.sizes[2]; ++x) edge(lines, count, first_weights, x, to + x * step);
  if (!epilogue.applies) return;
  if (step == channels || out.sizes[2] == 1) {
    tiles->unary(epilogue.op, to, to, out.sizes[2] * channels, epilogue.p, epilogue.q);
    return;
  }
  for (int64_t x = 0; x < out.sizes[2]; ++x, to += step) {
    tiles->unary(epilogue.op, to, to, channels, epilogue.p, epilogue.q);
  }
}

// An output whose window leaves the image at a side: a window of the columns that exist.
void PackedDepthwise::edge(const float* const* lines, int64_t count, const float* first_weights, int64_t x,
                           float* to) const {
  const Image& in = in_;
  const int64_t left = x * window.stride_w - window.pad_w;
  int64_t first = 0;
  while (first < window.kernel_w && left + first * window.dilation_w < 0) ++first;
  int64_t columns = 0;
  while (first + columns < window.kernel_w && left + (first + columns) * window.dilation_w < in.sizes[2]) ++columns;
  const float* shifted[kMostRows];
  for (int64_t i = 0; i < count; ++i) {
    shifted[i] = columns > 0 ? lines[i] + (left + first * window.dilation_w) * in.strides[2] : zeros;
  }
  tiles::DepthwiseRun run{};
  run.lines = shifted;
  run.column_step = in.strides[2];
  run.kernel_h = count;
  run.kernel_w = columns;
  run.stride = 1;
  run.dilation = window.dilation_w;
  run.weights = first_weights + first * channels;
  run.weight_step = window.kernel_w * channels;
  run.bias = bias;
  run.channels = channels;
  run.out = to;
  run.out_step = channels;
  run.outputs = 1;
  run.clamps = epilogue.clamps;
  run.low = epilogue.low;
  run.high = epilogue.high;
  tiles->packed->depthwise(run);
}

}  // namespace rushlight::optimized
