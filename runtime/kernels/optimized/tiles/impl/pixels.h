// Channels-last images: vectors run along the channels of a pixel.
#pragma once

#include "kernels/optimized/tiles/impl/vec.h"

namespace rushlight::tiles::RL_TILES_ISA {

struct Whole {
  RL_INLINE Floats load(const float* p) { return RL_TILES_ISA::load(p); }
  RL_INLINE void store(float* p, Floats v) { RL_TILES_ISA::store(p, v); }
};

struct Part {
  int64_t count;  // less than kWidth
  __attribute__((always_inline)) Floats load(const float* p) const {
    Floats v{};
    __builtin_memcpy(&v, p, static_cast<size_t>(count & (kWidth - 1)) * sizeof(float));
    return v;
  }
  __attribute__((always_inline)) void store(float* p, Floats v) const {
    __builtin_memcpy(p, &v, static_cast<size_t>(count & (kWidth - 1)) * sizeof(float));
  }
};

// Calls body(c, lanes) for every vector of channels; only the last may have fewer lanes than a vector.
template <typename Body>
RL_INLINE void over_channels(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) body(c, Whole{});
  if (c < channels) body(c, Part{channels - c});
}

// `Count` neighbouring outputs: an input of a row serves all of them.
template <int KernelH, int KernelW, int Stride, int Count, typename Lanes>
RL_INLINE void depthwise_pixels(const DepthwiseRow& r, const float* const* sources, int64_t c, Lanes lanes,
                                float* out) {
  const float* const weights = r.weights + c;
  const Floats first = r.bias ? lanes.load(r.bias + c) : Floats{};
  Floats acc[Count];
  RL_UNROLL for (int i = 0; i < Count; ++i) acc[i] = first;
  for (int ky = 0; ky < KernelH; ++ky) {
    Floats w[KernelW];
    RL_UNROLL for (int kx = 0; kx < KernelW; ++kx) w[kx] = lanes.load(weights + (ky * KernelW + kx) * r.channels);
    const float* const* columns = sources + ky * r.columns;
    RL_UNROLL for (int x = 0; x < (Count - 1) * Stride + KernelW; ++x) {
      const Floats v = lanes.load(columns[x] + c);
      RL_UNROLL for (int i = 0; i < Count; ++i) {
        const int kx = x - i * Stride;
        if (kx >= 0 && kx < KernelW) acc[i] += v * w[kx];
      }
    }
  }
  const Floats low = splat(r.low), high = splat(r.high);
  RL_UNROLL for (int i = 0; i < Count; ++i) {
    lanes.store(out + i * r.channels + c, at_most(at_least(acc[i], low), high));
  }
}

template <int Kernel, int Stride>
static void depthwise_row_of(const DepthwiseRow& r) {
  int64_t x = 0;
  for (; x + 4 <= r.count; x += 4) {
    over_channels(r.channels, [&](int64_t c, auto lanes) {
      depthwise_pixels<Kernel, Kernel, Stride, 4>(r, r.sources + x * Stride, c, lanes, r.out + x * r.channels);
    });
  }
  for (; x < r.count; ++x) {
    over_channels(r.channels, [&](int64_t c, auto lanes) {
      depthwise_pixels<Kernel, Kernel, Stride, 1>(r, r.sources + x * Stride, c, lanes, r.out + x * r.channels);
    });
  }
}

static void depthwise_row_any(const DepthwiseRow& r) {
  const Floats low = splat(r.low), high = splat(r.high);
  for (int64_t x = 0; x < r.count; ++x) {
    over_channels(r.channels, [&](int64_t c, auto lanes) {
      Floats acc = r.bias ? lanes.load(r.bias + c) : Floats{};
      for (int64_t ky = 0; ky < r.kernel_h; ++ky) {
        for (int64_t kx = 0; kx < r.kernel_w; ++kx) {
          const float* from = r.sources[ky * r.columns + x * r.stride_w + kx * r.dilation_w];
          acc += lanes.load(from + c) * lanes.load(r.weights + (ky * r.kernel_w + kx) * r.channels + c);
        }
      }
      lanes.store(r.out + x * r.channels + c, at_most(at_least(acc, low), high));
    });
  }
}

static void depthwise_row(const DepthwiseRow& r) {
  if (r.kernel_h == r.kernel_w && r.dilation_w == 1) {
    if (r.kernel_w == 3 && r.stride_w == 1) return depthwise_row_of<3, 1>(r);
    if (r.kernel_w == 3 && r.stride_w == 2) return depthwise_row_of<3, 2>(r);
    if (r.kernel_w == 5 && r.stride_w == 1) return depthwise_row_of<5, 1>(r);
    if (r.kernel_w == 5 && r.stride_w == 2) return depthwise_row_of<5, 2>(r);
  }
  depthwise_row_any(r);
}

// The matrices of F(m x m, 3 x 3) (Lavin and Gray 2016); m = 4 at the points 0, 1, -1, 2, -2.
template <int M>
struct Winograd;

template <>
struct Winograd<2> {
  RL_INLINE void filter(const Floats* g, Floats* u) {
    const Floats outer = g[0] + g[2];
    u[0] = g[0];
    u[1] = 0.5f * (outer + g[1]);
    u[2] = 0.5f * (outer - g[1]);
    u[3] = g[2];
  }
  RL_INLINE void input(const Floats* d, Floats* v) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
  RL_INLINE void output(const Floats* p, Floats* y) {
    y[0] = (p[0] + p[1]) + p[2];
    y[1] = (p[1] - p[2]) - p[3];
  }
};

template <>
struct Winograd<4> {
  RL_INLINE void filter(const Floats* g, Floats* u) {
    const Floats outer = (g[0] + g[2]) * (-1.0f / 6), far = g[0] * (1.0f / 24) + g[2] * (1.0f / 6);
    u[0] = 0.25f * g[0];
    u[1] = outer - g[1] * (1.0f / 6);
    u[2] = outer + g[1] * (1.0f / 6);
    u[3] = far + g[1] * (1.0f / 12);
    u[4] = far - g[1] * (1.0f / 12);
    u[5] = g[2];
  }
  RL_INLINE void input(const Floats* d, Floats* v) {
    const Floats a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1];
    const Floats c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
    v[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
    v[1] = a + b;
    v[2] = a - b;
    v[3] = c + e;
    v[4] = c - e;
    v[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
  }
  RL_INLINE void output(const Floats* p, Floats* y) {
    const Floats near = p[1] + p[2], far = p[3] + p[4], near_odd = p[1] - p[2], far_odd = p[3] - p[4];
    y[0] = p[0] + near + far;
    y[1] = near_odd + 2.0f * far_odd;
    y[2] = near + 4.0f * far;
    y[3] = near_odd + 8.0f * far_odd + p[5];
  }
};

// A transform of columns, then of rows: from [In][In] to [Out][Out].
template <int In, int Out, typename Transform>
RL_INLINE void twice(const Floats (&from)[In][In], Floats (&to)[Out][Out], const Transform& transform) {
  Floats half[In][Out];
  RL_UNROLL for (int x = 0; x < In; ++x) {
    Floats column[In];
    RL_UNROLL for (int y = 0; y < In; ++y) column[y] = from[y][x];
    transform(column, half[x]);
  }
  RL_UNROLL for (int y = 0; y < Out; ++y) {
    Floats row[In];
    RL_UNROLL for (int x = 0; x < In; ++x) row[x] = half[x][y];
    transform(row, to[y]);
  }
}

template <int M>
static void pixel_winograd_weights_of(const float* weights, int64_t channels, float* to, int64_t stride) {
  constexpr int n = M + 2;
  over_channels(channels, [&](int64_t c, auto lanes) {
    Floats g[3][3], u[n][n];
    for (int i = 0; i < 9; ++i) g[i / 3][i % 3] = lanes.load(weights + i * channels + c);
    twice(g, u, [](const Floats* a, Floats* b) { Winograd<M>::filter(a, b); });
    for (int i = 0; i < n * n; ++i) lanes.store(to + i * stride + c, u[i / n][i % n]);
  });
}

template <int M>
static void pixel_winograd_input_of(const float* const* pixels, int64_t channels, float* to, int64_t stride) {
  constexpr int n = M + 2;
  over_channels(channels, [&](int64_t c, auto lanes) {
    Floats d[n][n], v[n][n];
    RL_UNROLL for (int i = 0; i < n * n; ++i) d[i / n][i % n] = lanes.load(pixels[i] + c);
    twice(d, v, [](const Floats* a, Floats* b) { Winograd<M>::input(a, b); });
    RL_UNROLL for (int i = 0; i < n * n; ++i) lanes.store(to + i * stride + c, v[i / n][i % n]);
  });
}

template <int M>
static void pixel_winograd_output_of(const float* products, int64_t stride, int64_t channels, const float* bias,
                                     const float* bounds, float* const* pixels) {
  constexpr int n = M + 2;
  over_channels(channels, [&](int64_t c, auto lanes) {
    Floats p[n][n], y[M][M];
    RL_UNROLL for (int i = 0; i < n * n; ++i) p[i / n][i % n] = lanes.load(products + i * stride + c);
    twice(p, y, [](const Floats* a, Floats* b) { Winograd<M>::output(a, b); });
    const Floats first = bias ? lanes.load(bias + c) : Floats{};
    RL_UNROLL for (int i = 0; i < M * M; ++i) {
      if (pixels[i] == nullptr) continue;
      Floats value = y[i / M][i % M] + first;
      if (bounds) value = at_most(at_least(value, splat(bounds[0])), splat(bounds[1]));
      lanes.store(pixels[i] + c, value);
    }
  });
}

static void pixel_winograd_weights(int m, const float* weights, int64_t channels, float* to, int64_t stride) {
  if (m == 2) return pixel_winograd_weights_of<2>(weights, channels, to, stride);
  pixel_winograd_weights_of<4>(weights, channels, to, stride);
}
static void pixel_winograd_input(int m, const float* const* pixels, int64_t channels, float* to, int64_t stride) {
  if (m == 2) return pixel_winograd_input_of<2>(pixels, channels, to, stride);
  pixel_winograd_input_of<4>(pixels, channels, to, stride);
}
static void pixel_winograd_output(int m, const float* products, int64_t stride, int64_t channels, const float* bias,
                                  const float* bounds, float* const* pixels) {
  if (m == 2) return pixel_winograd_output_of<2>(products, stride, channels, bias, bounds, pixels);
  pixel_winograd_output_of<4>(products, stride, channels, bias, bounds, pixels);
}

}  // namespace rushlight::tiles::RL_TILES_ISA
