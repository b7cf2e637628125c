// The loops of Int8Loops, in namespace rushlight::microkernels::RL_ISA, which defines the names that
// gemm/impl/int8_epilogue.h needs.
#pragma once

#include <cstring>

#include "microkernels/dwconv/impl/int8.h"
#include "microkernels/elementwise/impl/int8_lookup.h"
#include "microkernels/gemm/impl/int8_epilogue.h"
#include "microkernels/simd/inline.h"
#include "microkernels/tables/int8_loops.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

static void quantize(const float* from, int64_t n, float factor, const Int8Range& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_rounded(to + i, load_reals(from + i) * factor, clamp);
  for (; i < n; ++i) to[i] = static_cast<int8_t>(rounded(from[i] * factor, clamp));
}

static void expand(const int8_t* from, int64_t n, int32_t zero, float scale, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    *reinterpret_cast<LooseReals*>(to + i) = __builtin_convertvector(widen(from + i) - zero, Reals) * scale;
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i] - zero) * scale;
}

static void widen_range(const float* from, int64_t n, float* least, float* most) {
  Reals low[2] = {*least - Reals{}, *least - Reals{}}, high[2] = {*most - Reals{}, *most - Reals{}};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    RL_UNROLL for (int j = 0; j < 2; ++j) {
      const Reals x = load_reals(from + i + j * kLanes);
      low[j] = smaller(x, low[j]);
      high[j] = larger(x, high[j]);
    }
  }
  float smallest = *least, largest = *most;
  RL_UNROLL for (int j = 0; j < 2; ++j) {
    for (int lane = 0; lane < kLanes; ++lane) {
      smallest = low[j][lane] < smallest ? low[j][lane] : smallest;
      largest = high[j][lane] > largest ? high[j][lane] : largest;
    }
  }
  for (; i < n; ++i) {
    smallest = from[i] < smallest ? from[i] : smallest;
    largest = from[i] > largest ? from[i] : largest;
  }
  *least = smallest;
  *most = largest;
}

static void add(const int8_t* a, const int8_t* b, int64_t n, float a_factor, float b_factor, float offset,
                const Int8Range& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Reals x = __builtin_convertvector(widen(a + i), Reals) * a_factor + offset;
    store_rounded(to + i, __builtin_convertvector(widen(b + i), Reals) * b_factor + x, clamp);
  }
  for (; i < n; ++i) {
    const float x = static_cast<float>(a[i]) * a_factor + offset;
    to[i] = static_cast<int8_t>(rounded(static_cast<float>(b[i]) * b_factor + x, clamp));
  }
}

static void multiply(const int8_t* a, const int8_t* b, int64_t n, int32_t a_zero, int32_t b_zero, float factor,
                     const Int8Range& range, int8_t* to) {
  const Clamp clamp = clamp_of(range);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Reals x = __builtin_convertvector(widen(a + i) - a_zero, Reals);
    store_rounded(to + i, x * __builtin_convertvector(widen(b + i) - b_zero, Reals) * factor, clamp);
  }
  for (; i < n; ++i) {
    to[i] = static_cast<int8_t>(
        rounded(static_cast<float>(a[i] - a_zero) * static_cast<float>(b[i] - b_zero) * factor, clamp));
  }
}

static void scale_channels(const Int8ScaledChannels& s, const Int8Range& range, int8_t* to) {
  constexpr int64_t kBytes = 16 * 1024;  // of the pixels of a block, which stays in the cache for all channels
  const Clamp clamp = clamp_of(range);
  const int64_t block = kBytes / s.channels + 1;
  for (int64_t first = 0; first < s.pixels; first += block) {
    const int64_t last = s.pixels - first < block ? s.pixels : first + block;
    int64_t c = 0;
    while (c + kLanes <= s.channels) {
      const Reals weight = load_reals(s.weights + c), multiplier = load_reals(s.multipliers + c);
      const Reals correction = __builtin_convertvector(load_lanes(s.corrections + c), Reals);
      const Reals offset = s.offsets ? load_reals(s.offsets + c) : Reals{};
      for (int64_t p = first; p < last; ++p) {
        const Reals x = __builtin_convertvector(widen(s.from + p * s.channels + c), Reals) * weight + correction;
        store_rounded(to + p * s.channels + c, x * multiplier + offset, clamp);
      }
      c += kLanes;
      // The last vector may overlap the vector before it.
      if (c < s.channels && c + kLanes > s.channels) c = s.channels - kLanes;
    }
    for (; c < s.channels; ++c) {
      for (int64_t p = first; p < last; ++p) {
        const float x =
            static_cast<float>(s.from[p * s.channels + c]) * s.weights[c] + static_cast<float>(s.corrections[c]);
        to[p * s.channels + c] =
            static_cast<int8_t>(rounded(x * s.multipliers[c] + (s.offsets ? s.offsets[c] : 0.0f), clamp));
      }
    }
  }
}

// Computes vectors of `Size` bytes from index i on. Returns the first index that is not computed.
template <int Size>
RL_INLINE int64_t maximum_of(const int8_t* const* rows, int64_t count, int64_t i, int64_t n, int8_t least, int8_t most,
                             int8_t* to) {
  typedef int8_t Bytes __attribute__((vector_size(Size)));
  typedef int8_t LooseBytes __attribute__((vector_size(Size), aligned(1), may_alias));
  const Bytes lowest = least - Bytes{}, highest = most - Bytes{};
  for (; i + Size <= n; i += Size) {
    Bytes x = lowest;
    for (int64_t row = 0; row < count; ++row) {
      const Bytes y = *reinterpret_cast<const LooseBytes*>(rows[row] + i);
      x = x > y ? x : y;
    }
    *reinterpret_cast<LooseBytes*>(to + i) = x < highest ? x : highest;
  }
  return i;
}

static void maximum(const int8_t* const* rows, int64_t count, int64_t n, int32_t least, int32_t most, int8_t* to) {
  const int8_t low = static_cast<int8_t>(least), high = static_cast<int8_t>(most);
  int64_t i = maximum_of<4 * kLanes>(rows, count, 0, n, low, high, to);
  i = maximum_of<16>(rows, count, i, n, low, high, to);
  for (; i < n; ++i) {
    int8_t x = low;
    for (int64_t row = 0; row < count; ++row) x = x > rows[row][i] ? x : rows[row][i];
    to[i] = x < high ? x : high;
  }
}

static void add_rows(const int8_t* from, int64_t rows, int64_t stride, int64_t n, int32_t* sums) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Lanes sum = load_lanes(sums + i);
    for (int64_t row = 0; row < rows; ++row) sum += widen(from + row * stride + i);
    *reinterpret_cast<LooseLanes*>(sums + i) = sum;
  }
  for (; i < n; ++i) {
    for (int64_t row = 0; row < rows; ++row) sums[i] += from[row * stride + i];
  }
}

static void add_pixels(const int32_t* const* sources, int64_t count, int64_t pixels, int64_t step, int64_t channels,
                       int32_t* to) {
  for (int64_t x = 0; x < pixels; ++x, to += channels) {
    const int64_t at = x * step;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      Lanes sum = load_lanes(sources[0] + at + c);
      for (int64_t i = 1; i < count; ++i) sum += load_lanes(sources[i] + at + c);
      *reinterpret_cast<LooseLanes*>(to + c) = sum;
    }
    for (; c < channels; ++c) {
      int32_t sum = sources[0][at + c];
      for (int64_t i = 1; i < count; ++i) sum += sources[i][at + c];
      to[c] = sum;
    }
  }
}

static void interleave_3(const int8_t* __restrict rows, int64_t stride, int64_t n, int8_t* __restrict to) {
  const int8_t* __restrict second = rows + stride;
  const int8_t* __restrict third = second + stride;
  for (int64_t i = 0; i < n; ++i) {
    to[3 * i] = rows[i];
    to[3 * i + 1] = second[i];
    to[3 * i + 2] = third[i];
  }
}

static constexpr Int8Loops make_int8_loops() {
  Int8Loops t{};
  RL_SET(quantize, quantize);
  RL_SET(expand, expand);
  RL_SET(widen_range, widen_range);
  RL_SET(add, add);
  RL_SET(multiply, multiply);
  RL_SET(maximum, maximum);
  RL_SET(add_rows, add_rows);
  RL_SET(add_pixels, add_pixels);
  RL_SET(look_up, look_up);
  RL_SET(interleave_3, interleave_3);
  RL_SET(scale_channels, scale_channels);
  RL_SET(depthwise, depthwise);
  RL_SET(pack_depthwise, pack_depthwise);
  RL_SET(depthwise_window, depthwise_window);
  RL_SET(pack_depthwise_window, pack_depthwise_window);
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
