// Depthwise convolution of one plane. The lanes of a vector are adjacent columns.
#pragma once

#include "microkernels/elementwise/impl/f32_copy.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32.h"

namespace rushlight::microkernels::RL_ISA {

// Loads one input for each of kWidth outputs: p[0], p[Stride], ... With stride 2, they have the order that shuffles
// within 128 bits produce.
template <int Stride>
RL_INLINE Floats load_taps(const float* p) {
  if constexpr (Stride == 1) return load(p);
  return evens_in_lanes(load(p), load(p + kWidth));
}
template <int Stride>
RL_INLINE Floats in_order(Floats v) {
  if constexpr (Stride == 1) return v;
  return order_of_lanes(v);
}

// Computes `Rows` x `Vectors` vectors of outputs from [y, x] on, for any window.
template <int Stride, int Rows, int Vectors>
RL_INLINE void depthwise_any(const DepthwisePlane& d, const float* weights, float bias, const float* source,
                             Floats (&acc)[Rows][Vectors]) {
  RL_UNROLL for (int r = 0; r < Rows; ++r) { RL_UNROLL for (int v = 0; v < Vectors; ++v) acc[r][v] = splat(bias); }
  const int64_t down = d.stride_h * d.row;
  for (int64_t ky = 0; ky < d.kernel_h; ++ky) {
    const float* line = source + ky * d.dilation_h * d.row;
    for (int64_t kx = 0; kx < d.kernel_w; ++kx, line += d.dilation_w) {
      const Floats weight = splat(*weights++);
      RL_UNROLL for (int r = 0; r < Rows; ++r) {
        RL_UNROLL for (int v = 0; v < Vectors; ++v) {
          acc[r][v] += weight * load_taps<Stride>(line + r * down + v * Stride * kWidth);
        }
        keep_order(acc[r]);
      }
    }
  }
}

// As above, for a window of 3 x 3 with equal strides. Each input line is loaded only once for all rows of output.
template <int Stride, int Rows>
RL_INLINE void depthwise_3x3(const DepthwisePlane& d, const Floats (&weights)[9], float bias, const float* source,
                             Floats (&acc)[Rows][1]) {
  RL_UNROLL for (int r = 0; r < Rows; ++r) acc[r][0] = splat(bias);
  RL_UNROLL for (int line = 0; line < (Rows - 1) * Stride + 3; ++line) {
    const float* p = source + line * d.row;
    Floats taps[3];
    if constexpr (Stride == 1) {
      RL_UNROLL for (int kx = 0; kx < 3; ++kx) taps[kx] = load(p + kx);
    } else {
      const Floats low = load(p), high = load(p + kWidth);
      taps[0] = evens_in_lanes(low, high);
      taps[1] = odds_in_lanes(low, high);
      taps[2] = evens_in_lanes(load(p + 2), load(p + 2 + kWidth));
    }
    RL_UNROLL for (int kx = 0; kx < 3; ++kx) {
      RL_UNROLL for (int r = 0; r < Rows; ++r) {
        const int ky = line - r * Stride;
        if (ky >= 0 && ky < 3) acc[r][0] += weights[ky * 3 + kx] * taps[kx];
      }
    }
  }
}

// Computes rows of output from row y of the plane on. Row y is row `band_y` of the band in `source`.
template <int Stride, bool Three, int Rows>
static void depthwise_rows(const DepthwisePlane& d, const float* weights, float bias, const float* source,
                           int64_t band_y, int64_t y, float* out) {
  Floats square[9];
  if constexpr (Three) {
    RL_UNROLL for (int i = 0; i < 9; ++i) square[i] = splat(weights[i]);
  }
  source += band_y * d.stride_h * d.row;
  const int64_t columns = d.out_width;
  int64_t x = 0;
  if constexpr (!Three) {
    for (; x + 2 * kWidth <= columns; x += 2 * kWidth) {
      Floats acc[Rows][2];
      depthwise_any<Stride, Rows, 2>(d, weights, bias, source + x * Stride, acc);
      RL_UNROLL for (int r = 0; r < Rows; ++r) {
        RL_UNROLL for (int v = 0; v < 2; ++v) {
          store(out + (y + r) * columns + x + v * kWidth, in_order<Stride>(acc[r][v]));
        }
      }
    }
  }
  while (x < columns) {
    // The last vector overlaps the vector before it.
    if (x + kWidth > columns && columns >= kWidth) x = columns - kWidth;
    Floats acc[Rows][1];
    if constexpr (Three) {
      depthwise_3x3<Stride, Rows>(d, square, bias, source + x * Stride, acc);
    } else {
      depthwise_any<Stride, Rows, 1>(d, weights, bias, source + x * Stride, acc);
    }
    RL_UNROLL for (int r = 0; r < Rows; ++r) {
      const Floats value = in_order<Stride>(acc[r][0]);
      float* to = out + (y + r) * columns + x;
      // If a vector is longer than the row, the next row overwrites its end.
      if (columns >= kWidth || (y + r) * columns + kWidth <= d.out_height * columns) {
        store(to, value);
      } else {
        store_few(to, value, columns);
      }
    }
    x += kWidth;
  }
}

// Copies a band of the input. The padding columns are already set.
static void depthwise_fill(const DepthwisePlane& d, const float* input, int64_t first, int64_t lines, float padding,
                           float* to) {
  const int64_t capacity = d.row - d.pad_w;
  const int64_t n = d.width < capacity ? d.width : capacity;
  to += d.pad_w;
  for (int64_t i = 0; i < lines; ++i, to += d.row) {
    const int64_t y = first + i;
    if (y >= 0 && y < d.height) {
      copy(input + y * d.width, n, to);
    } else {
      fill(padding, n, to);
    }
  }
}

template <int Stride, bool Three>
static void depthwise_plane(const DepthwisePlane& d, const float* input, const float* weights, float bias, float* out,
                            float* scratch) {
  for (int64_t top = 0; top < d.out_height; top += d.band) {
    const int64_t rows = d.out_height - top < d.band ? d.out_height - top : d.band;
    const int64_t lines = (rows - 1) * d.stride_h + (d.kernel_h - 1) * d.dilation_h + 1;
    depthwise_fill(d, input, top * d.stride_h - d.pad_h, lines, 0.0f, scratch);
    int64_t y = 0;
    if constexpr (Stride == 1) {
      for (; y + 4 <= rows; y += 4) depthwise_rows<Stride, Three, 4>(d, weights, bias, scratch, y, top + y, out);
    }
    for (; y + 2 <= rows; y += 2) depthwise_rows<Stride, Three, 2>(d, weights, bias, scratch, y, top + y, out);
    if (y < rows) depthwise_rows<Stride, Three, 1>(d, weights, bias, scratch, y, top + y, out);
  }
}

static void depthwise(const DepthwisePlane& d, const float* input, const float* weights, float bias, float* out,
                      float* scratch) {
  const bool three = d.kernel_h == 3 && d.kernel_w == 3 && d.dilation_h == 1 && d.dilation_w == 1;
  if (d.stride_w == 1) {
    if (three && d.stride_h == 1) return depthwise_plane<1, true>(d, input, weights, bias, out, scratch);
    return depthwise_plane<1, false>(d, input, weights, bias, out, scratch);
  }
  if (three && d.stride_h == 2) return depthwise_plane<2, true>(d, input, weights, bias, out, scratch);
  return depthwise_plane<2, false>(d, input, weights, bias, out, scratch);
}

template <int Vectors>
RL_INLINE void depthwise_pixel_at(const float* const* sources, const float* weights, int64_t taps, int64_t channels,
                                  const float* bias, int64_t c, float* out) {
  Floats acc[Vectors];
  RL_UNROLL for (int v = 0; v < Vectors; ++v) acc[v] = bias ? load(bias + c + v * kWidth) : Floats{};
  for (int64_t tap = 0; tap < taps; ++tap) {
    RL_UNROLL for (int v = 0; v < Vectors; ++v) {
      acc[v] += load(weights + tap * channels + c + v * kWidth) * load(sources[tap] + c + v * kWidth);
    }
  }
  RL_UNROLL for (int v = 0; v < Vectors; ++v) store(out + c + v * kWidth, acc[v]);
}

static void depthwise_pixel(const float* const* sources, const float* weights, int64_t taps, int64_t channels,
                            const float* bias, float* out) {
  int64_t c = 0;
  for (; c + 4 * kWidth <= channels; c += 4 * kWidth) {
    depthwise_pixel_at<4>(sources, weights, taps, channels, bias, c, out);
  }
  for (; c + kWidth <= channels; c += kWidth) {
    depthwise_pixel_at<1>(sources, weights, taps, channels, bias, c, out);
  }
  for (; c < channels; ++c) {
    float sum = bias ? bias[c] : 0.0f;
    for (int64_t tap = 0; tap < taps; ++tap) sum += weights[tap * channels + c] * sources[tap][c];
    out[c] = sum;
  }
}

}  // namespace rushlight::microkernels::RL_ISA
