// Pooling of one plane, where the lanes of a vector are adjacent columns, and of channels-last images, where they are
// adjacent channels.
#pragma once

#include "microkernels/dwconv/impl/f32.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

// Returns the first position of the window that is inside of the plane. `position` is the first position of the window,
// and the next ones follow in steps of the dilation.
RL_INLINE Ints inside(Ints position, int64_t pad, int64_t dilation) {
  const int32_t step = static_cast<int32_t>(dilation);
  for (int64_t behind = pad; behind > 0; behind -= dilation) position += (position < 0) & step;
  return position;
}

template <int Stride>
static void max_pool_plane(const DepthwisePlane& d, const float* input, float* out, int64_t* indices, float* scratch) {
  const float lowest = -__builtin_inff();
  float ramp[2 * kWidth];
  for (int i = 0; i < 2 * kWidth; ++i) ramp[i] = static_cast<float>(i);
  // The input column, relative to the first, that belongs to the output column of each lane.
  const Ints lanes = __builtin_convertvector(load_taps<Stride>(ramp), Ints);
  const int32_t width = static_cast<int32_t>(d.width);
  for (int64_t top = 0; top < d.out_height; top += d.band) {
    const int64_t rows = d.out_height - top < d.band ? d.out_height - top : d.band;
    const int64_t lines = (rows - 1) * d.stride_h + (d.kernel_h - 1) * d.dilation_h + 1;
    depthwise_fill(d, input, top * d.stride_h - d.pad_h, lines, lowest, scratch);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t first = (top + r) * d.stride_h - d.pad_h;
      int64_t first_inside = first;
      while (first_inside < 0) first_inside += d.dilation_h;
      for (int64_t x = 0; x < d.out_width; x += kWidth) {
        if (x + kWidth > d.out_width && d.out_width >= kWidth) x = d.out_width - kWidth;
        const Ints column = lanes + static_cast<int32_t>(x * Stride - d.pad_w);
        Floats best = splat(lowest);
        Ints where = inside(column, d.pad_w, d.dilation_w) + static_cast<int32_t>(first_inside) * width;
        for (int64_t ky = 0; ky < d.kernel_h; ++ky) {
          const float* line = scratch + (r * d.stride_h + ky * d.dilation_h) * d.row + x * Stride;
          const int32_t line_index = static_cast<int32_t>(first + ky * d.dilation_h) * width;
          for (int64_t kx = 0; kx < d.kernel_w; ++kx) {
            const Floats value = load_taps<Stride>(line + kx * d.dilation_w);
            const Ints better = (value > best) | (value != value);
            best = select(better, value, best);
            where = better ? column + (line_index + static_cast<int32_t>(kx * d.dilation_w)) : where;
          }
        }
        const Ints ordered = as_ints(in_order<Stride>(as_floats(where)));
        const int64_t at = (top + r) * d.out_width + x;
        const int64_t n = d.out_width < kWidth ? d.out_width : kWidth;
        if (n == kWidth) {
          store(out + at, in_order<Stride>(best));
          RL_UNROLL for (int i = 0; i < kWidth; ++i) indices[at + i] = ordered[i];
        } else {
          store_few(out + at, in_order<Stride>(best), n);
          for (int64_t i = 0; i < n; ++i) indices[at + i] = ordered[i];
        }
      }
    }
  }
}

static void max_pool(const DepthwisePlane& d, const float* input, float* out, int64_t* indices, float* scratch) {
  if (d.stride_w == 1) return max_pool_plane<1>(d, input, out, indices, scratch);
  return max_pool_plane<2>(d, input, out, indices, scratch);
}

// Count: the value of PooledPixels::count, or 0 if it is not a constant.
template <bool IsMaximum, int Count>
static void pool_of(const PooledPixels& p) {
  const auto result = [&](int64_t at, auto load) {
    Floats value = load(p.sources[0] + at);
    const int64_t count = Count > 0 ? Count : p.count;
    for (int64_t i = 1; i < count; ++i) {
      const Floats next = load(p.sources[i] + at);
      if constexpr (IsMaximum) {
        value = select((next > value) | (next != next), next, value);
      } else {
        value += next;
      }
    }
    return IsMaximum ? value : value * p.scale;
  };
  for (int64_t x = 0; x < p.pixels; ++x) {
    const int64_t from = x * p.in_step;
    float* const to = p.out + x * p.out_step;
    int64_t c = 0;
    for (; c + kWidth <= p.channels; c += kWidth) {
      store(to + c, result(from + c, [](const float* at) { return load(at); }));
    }
    const int64_t left = p.channels - c;
    if (left > 0 && left < kWidth) {
      store_few(to + c, result(from + c, [=](const float* at) { return load_few(at, left); }), left);
    }
  }
}

template <bool IsMaximum>
static void pool_with(const PooledPixels& p) {
  if constexpr (!kIsCompact) {
    if (p.count == 2) return pool_of<IsMaximum, 2>(p);
    if (p.count == 3) return pool_of<IsMaximum, 3>(p);
  }
  pool_of<IsMaximum, 0>(p);
}

static void pool(const PooledPixels& p) { p.is_maximum ? pool_with<true>(p) : pool_with<false>(p); }

}  // namespace rushlight::microkernels::RL_ISA
