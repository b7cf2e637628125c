// Depthwise convolution and pooling of channels-last images, vectors along channels.
#pragma once

#include "kernels/optimized/tiles/impl/vec.h"
#include "kernels/optimized/tiles/packed.h"

namespace rushlight::tiles::RL_TILES_ISA {

// `Outputs` outputs of one vector of channels, or of `left` < kWidth of them.
template <int Kernel, int Stride, int Outputs, bool Whole>
RL_INLINE void depthwise_at(const DepthwiseRun& d, int64_t first, int64_t c, int64_t left) {
  Floats acc[Outputs];
  const Floats bias = d.bias ? (Whole ? load(d.bias + c) : load_few(d.bias + c, left)) : Floats{};
  RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[i] = bias;
  constexpr int kColumns = (Outputs - 1) * Stride + Kernel;
  for (int64_t ky = 0; ky < d.kernel_h; ++ky) {
    const float* line = d.lines[ky] + first * Stride * d.column_step + c;
    const float* weights = d.weights + ky * d.weight_step + c;
    Floats in[kColumns];
    RL_UNROLL for (int x = 0; x < kColumns; ++x) {
      in[x] = Whole ? load(line + x * d.column_step) : load_few(line + x * d.column_step, left);
    }
    RL_UNROLL for (int kx = 0; kx < Kernel; ++kx) {
      const Floats weight = Whole ? load(weights + kx * d.channels) : load_few(weights + kx * d.channels, left);
      RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[i] += weight * in[i * Stride + kx];
    }
  }
  RL_UNROLL for (int i = 0; i < Outputs; ++i) {
    Floats value = acc[i];
    if (d.clamps) value = at_most(at_least(value, splat(d.low)), splat(d.high));
    float* to = d.out + (first + i) * d.out_step + c;
    Whole ? store(to, value) : store_few(to, value, left);
  }
}

template <int Outputs, bool Whole>
RL_INLINE void depthwise_any_at(const DepthwiseRun& d, int64_t first, int64_t c, int64_t left) {
  Floats acc[Outputs];
  const Floats bias = d.bias ? (Whole ? load(d.bias + c) : load_few(d.bias + c, left)) : Floats{};
  RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[i] = bias;
  const int64_t step = d.stride * d.column_step;
  for (int64_t ky = 0; ky < d.kernel_h; ++ky) {
    const float* line = d.lines[ky] + first * step + c;
    const float* weights = d.weights + ky * d.weight_step + c;
    for (int64_t kx = 0; kx < d.kernel_w; ++kx) {
      const Floats weight = Whole ? load(weights) : load_few(weights, left);
      RL_UNROLL for (int i = 0; i < Outputs; ++i) {
        acc[i] += weight * (Whole ? load(line + i * step) : load_few(line + i * step, left));
      }
      line += d.dilation * d.column_step;
      weights += d.channels;
    }
  }
  RL_UNROLL for (int i = 0; i < Outputs; ++i) {
    Floats value = acc[i];
    if (d.clamps) value = at_most(at_least(value, splat(d.low)), splat(d.high));
    float* to = d.out + (first + i) * d.out_step + c;
    Whole ? store(to, value) : store_few(to, value, left);
  }
}

template <int Kernel, int Stride, int Outputs>
static void depthwise_outputs(const DepthwiseRun& d, int64_t first) {
  int64_t c = 0;
  for (; c + kWidth <= d.channels; c += kWidth) {
    if constexpr (Kernel == 0) {
      depthwise_any_at<Outputs, true>(d, first, c, kWidth);
    } else {
      depthwise_at<Kernel, Stride, Outputs, true>(d, first, c, kWidth);
    }
  }
  if (c == d.channels) return;
  if constexpr (Kernel == 0) {
    depthwise_any_at<Outputs, false>(d, first, c, d.channels - c);
  } else {
    depthwise_at<Kernel, Stride, Outputs, false>(d, first, c, d.channels - c);
  }
}

template <int Kernel, int Stride>
static void depthwise_line(const DepthwiseRun& d) {
  int64_t x = 0;
  for (; x + 4 <= d.outputs; x += 4) depthwise_outputs<Kernel, Stride, 4>(d, x);
  for (; x + 2 <= d.outputs; x += 2) depthwise_outputs<Kernel, Stride, 2>(d, x);
  if (x < d.outputs) depthwise_outputs<Kernel, Stride, 1>(d, x);
}

static void depthwise_run(const DepthwiseRun& d) {
  if (d.dilation == 1 && d.stride == 1 && d.kernel_w == 3) return depthwise_line<3, 1>(d);
  if (d.dilation == 1 && d.stride == 2 && d.kernel_w == 3) return depthwise_line<3, 2>(d);
  if (d.dilation == 1 && d.stride == 1 && d.kernel_w == 5) return depthwise_line<5, 1>(d);
  if (d.dilation == 1 && d.stride == 2 && d.kernel_w == 5) return depthwise_line<5, 2>(d);
  return depthwise_line<0, 0>(d);
}

template <bool Maximum>
RL_INLINE Floats pooled(const float* const* sources, int64_t count, int64_t c, int64_t left) {
  Floats value = left >= kWidth ? load(sources[0] + c) : load_few(sources[0] + c, left);
  for (int64_t i = 1; i < count; ++i) {
    const Floats next = left >= kWidth ? load(sources[i] + c) : load_few(sources[i] + c, left);
    if constexpr (Maximum) {
      value = select((next > value) | (next != next), next, value);
    } else {
      value += next;
    }
  }
  return value;
}

template <bool Maximum>
static void pool_of(const float* const* sources, int64_t count, int64_t channels, float scale, float* out) {
  int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) {
    const Floats value = pooled<Maximum>(sources, count, c, kWidth);
    store(out + c, Maximum ? value : value * scale);
  }
  if (c < channels) {
    const Floats value = pooled<Maximum>(sources, count, c, channels - c);
    store_few(out + c, Maximum ? value : value * scale, channels - c);
  }
}

static void pool(bool maximum, const float* const* sources, int64_t count, int64_t channels, float scale, float* out) {
  return maximum ? pool_of<true>(sources, count, channels, scale, out)
                 : pool_of<false>(sources, count, channels, scale, out);
}

}  // namespace rushlight::tiles::RL_TILES_ISA
