// The transforms of F(2 x 2, 3 x 3), F(3 x 3, 3 x 3) and F(4 x 4, 3 x 3) (Lavin and Gray 2016) for channels-last
// images, and the transforms of 3 x 3 convolutions with a stride of 2.
#pragma once

#include "microkernels/elementwise/impl/f32.h"
#include "microkernels/gemm/impl/f32_panel.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

// Small code has one copy of the transform of a line.
#if defined(RUSHLIGHT_SMALL)
#define RL_UNROLL_LINES _Pragma("GCC unroll 1")
#else
#define RL_UNROLL_LINES RL_UNROLL
#endif

// Along an axis, a tile has kInputs inputs and as many transformed inputs. Their products are added up to kPoints sums,
// which are transformed to kOutputs outputs.

// The matrices of F(m x m, 3 x 3) (Lavin and Gray 2016). The points are infinity and the first m + 1 of 0, 1, -1, 2,
// -2.
template <int M>
struct Winograd;

template <>
struct Winograd<2> {
  static constexpr int kInputs = 4, kPoints = 4, kOutputs = 2;
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
struct Winograd<3> {
  static constexpr int kInputs = 5, kPoints = 5, kOutputs = 3;
  RL_INLINE void filter(const Floats* g, Floats* u) {
    const Floats outer = (g[0] + g[2]) * -0.5f, far = g[0] * (1.0f / 6) + g[2] * (2.0f / 3);
    u[0] = 0.5f * g[0];
    u[1] = outer - 0.5f * g[1];
    u[2] = outer + 0.5f * g[1];
    u[3] = far + g[1] * (1.0f / 3);
    u[4] = g[2];
  }
  RL_INLINE void input(const Floats* d, Floats* v) {
    const Floats odd = d[3] - d[1];
    v[0] = 2.0f * (d[0] - d[2]) + odd;
    v[1] = d[3] - 2.0f * d[1] - d[2];
    v[2] = (d[3] + 2.0f * d[1]) * (1.0f / 3) - d[2];
    v[3] = odd;
    v[4] = d[4] - d[2] - 2.0f * odd;
  }
  RL_INLINE void output(const Floats* p, Floats* y) {
    const Floats near = p[1] + p[2];
    y[0] = (p[0] + near) + p[3];
    y[1] = (p[1] - p[2]) + 2.0f * p[3];
    y[2] = near + 4.0f * p[3] + p[4];
  }
};

template <>
struct Winograd<4> {
  static constexpr int kInputs = 6, kPoints = 6, kOutputs = 4;
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

// A stride of 2: F(2, 2) of the even inputs d0, d2, d4 at the points 0, 1 and infinity. The products of the middle tap
// and the odd inputs d1, d3 are added at 0 and infinity: (d0 - d2) w0 + d1 w1, d2 (w0 + w2), d3 w1 + (d4 - d2) w2.
struct WinogradApart {
  static constexpr int kInputs = 5, kPoints = 3, kOutputs = 2;
  RL_INLINE void input(const Floats* d, Floats* v) {
    v[0] = d[0] - d[2];
    v[1] = d[1];
    v[2] = d[2];
    v[3] = d[3];
    v[4] = d[4] - d[2];
  }
  RL_INLINE void output(const Floats* p, Floats* y) {
    y[0] = p[0] + p[1];
    y[1] = p[1] + p[2];
  }
};

// Pointers to the pixels of a tile. For padding, `from` points to zeros, and `mask` is 0, so that every channel is read
// from channel 0.
template <int Inputs>
struct WinogradPixels {
  const float* from[Inputs * Inputs];
  int64_t mask[Inputs * Inputs];
};

// Returns the sums of the squares of the inputs. They are large or not finite if an input is huge, infinite or NaN.
template <typename W, bool Inside, bool Whole>
RL_INLINE Floats winograd_input_at(const WinogradInput& t, const WinogradPixels<W::kInputs>& pixels, int64_t c,
                                   int64_t left) {
  constexpr int kIn = W::kInputs;
  Floats columns[kIn][kIn];  // [x][y]
  Floats squares{};
  RL_UNROLL_LINES for (int x = 0; x < kIn; ++x) {
    Floats d[kIn], square{};
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      const int i = y * kIn + x;
      const float* p =
          Inside ? t.from + y * t.line_step + x * t.column_step + c : pixels.from[i] + (c & pixels.mask[i]);
      d[y] = Whole ? load(p) : load_few(p, left);
      square += d[y] * d[y];
    }
    squares += square;
    W::input(d, columns[x]);
  }
  RL_UNROLL_LINES for (int y = 0; y < kIn; ++y) {
    Floats row[kIn], v[kIn];
    RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
    W::input(row, v);
    RL_UNROLL for (int x = 0; x < kIn; ++x) {
      float* p = t.to + (y * kIn + x) * t.to_step + c;
      Whole ? store(p, v[x]) : store_few(p, v[x], left);
    }
  }
  return squares;
}

template <typename W>
static bool winograd_tile_input(const WinogradInput& t) {
  constexpr int kIn = W::kInputs;
  alignas(64) static constexpr float kZeros[kWidth] = {};
  // Small code has one copy of the transform, for any tile and any number of channels.
  const bool inside = !kIsSmall && t.first_line <= 0 && t.first_column <= 0 && t.lines >= kIn && t.columns >= kIn;
  const int64_t whole = kIsSmall ? 0 : t.channels / kWidth * kWidth;
  WinogradPixels<kIn> pixels;
  Floats squares{};
  if (inside) {
    for (int64_t c = 0; c < whole; c += kWidth) squares += winograd_input_at<W, true, true>(t, pixels, c, kWidth);
    if (whole == t.channels) return sum(squares) <= __FLT_MAX__;
  }
  for (int y = 0; y < kIn; ++y) {
    for (int x = 0; x < kIn; ++x) {
      const bool exists = y >= t.first_line && y < t.lines && x >= t.first_column && x < t.columns;
      pixels.from[y * kIn + x] = exists ? t.from + y * t.line_step + x * t.column_step : kZeros;
      pixels.mask[y * kIn + x] = exists ? -1 : 0;
    }
  }
  for (int64_t c = inside ? whole : 0; c < whole; c += kWidth) {
    squares += winograd_input_at<W, false, true>(t, pixels, c, kWidth);
  }
  for (int64_t c = whole; c < t.channels; c += kWidth) {
    squares += winograd_input_at<W, false, false>(t, pixels, c, t.channels - c < kWidth ? t.channels - c : kWidth);
    if (!kIsSmall) break;  // fewer than kWidth channels are left
  }
  return sum(squares) <= __FLT_MAX__;
}

template <typename W, bool Whole>
RL_INLINE void winograd_output_at(const WinogradOutput& t, int64_t c, int64_t left) {
  constexpr int kIn = W::kPoints, M = W::kOutputs;
  Floats columns[kIn][M];  // [x][y]
  RL_UNROLL_LINES for (int x = 0; x < kIn; ++x) {
    Floats m[kIn];
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      const float* p = t.from + (y * kIn + x) * t.from_step + c;
      m[y] = Whole ? load(p) : load_few(p, left);
    }
    W::output(m, columns[x]);
  }
  const Floats bias = t.bias ? (Whole ? load(t.bias + c) : load_few(t.bias + c, left)) : Floats{};
  RL_UNROLL_LINES for (int y = 0; y < M; ++y) {
    if (y >= t.lines) break;
    Floats row[kIn], v[M];
    RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
    W::output(row, v);
    RL_UNROLL for (int x = 0; x < M; ++x) {
      if (x >= t.columns) break;
      const int64_t at = y * t.line_step + x * t.column_step + c;
      const Floats value = finish(v[x] + bias, t.epilogue, t.epilogue.residual ? t.epilogue.residual + at : nullptr,
                                  Whole ? kWidth : left);
      Whole ? store(t.to + at, value) : store_few(t.to + at, value, left);
    }
  }
}

template <typename W>
static void winograd_tile_output(const WinogradOutput& t) {
  const int64_t whole = kIsSmall ? 0 : t.channels / kWidth * kWidth;
  for (int64_t c = 0; c < whole; c += kWidth) winograd_output_at<W, true>(t, c, kWidth);
  for (int64_t c = whole; c < t.channels; c += kWidth) {
    winograd_output_at<W, false>(t, c, t.channels - c < kWidth ? t.channels - c : kWidth);
    if (!kIsSmall) break;  // fewer than kWidth channels are left
  }
  if (!t.epilogue.applies) return;
  for (int64_t y = 0; y < t.lines; ++y) {
    for (int64_t x = 0; x < t.columns; ++x) {
      float* p = t.to + y * t.line_step + x * t.column_step;
      unary(t.epilogue.op, p, p, t.channels, t.epilogue.p, t.epilogue.q);
    }
  }
}

template <int M, bool Whole>
RL_INLINE void winograd_filter_at(const float* weights, int64_t channels, float* to, int64_t stride, int64_t c) {
  constexpr int kIn = M + 2;
  const int64_t left = channels - c < kWidth ? channels - c : kWidth;
  Floats columns[3][kIn];  // [x][y]
  for (int x = 0; x < 3; ++x) {
    Floats g[3];
    for (int y = 0; y < 3; ++y) {
      const float* p = weights + (y * 3 + x) * channels + c;
      g[y] = Whole ? load(p) : load_few(p, left);
    }
    Winograd<M>::filter(g, columns[x]);
  }
  for (int y = 0; y < kIn; ++y) {
    Floats row[3], u[kIn];
    for (int x = 0; x < 3; ++x) row[x] = columns[x][y];
    Winograd<M>::filter(row, u);
    for (int x = 0; x < kIn; ++x) {
      float* p = to + (y * kIn + x) * stride + c;
      Whole ? store(p, u[x]) : store_few(p, u[x], left);
    }
  }
}

template <int M>
static void winograd_filters(const float* weights, int64_t channels, float* to, int64_t stride) {
  const int64_t whole = kIsSmall ? 0 : channels / kWidth * kWidth;
  for (int64_t c = 0; c < whole; c += kWidth) winograd_filter_at<M, true>(weights, channels, to, stride, c);
  for (int64_t c = whole; c < channels; c += kWidth) {
    winograd_filter_at<M, false>(weights, channels, to, stride, c);
    if (!kIsSmall) break;  // fewer than kWidth channels are left
  }
}

template <int M>
static constexpr WinogradTransforms winograd_transforms() {
  return {&winograd_filters<M>, &winograd_tile_input<Winograd<M>>, &winograd_tile_output<Winograd<M>>};
}

#undef RL_UNROLL_LINES

}  // namespace rushlight::microkernels::RL_ISA
