// Depthwise and grouped convolutions of channels-last images. The lanes of a vector are adjacent channels.
#pragma once

#include <utility>

#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/tables/isas.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

template <bool Whole>
RL_INLINE Floats load_channels(const float* p, int64_t left) {
  return Whole ? load(p) : load_few(p, left);
}
template <bool Whole>
RL_INLINE void store_channels(float* p, Floats v, int64_t left) {
  Whole ? store(p, v) : store_few(p, v, left);
}

// The input columns that adjacent outputs read. Unless `Inside`, some of them may be padding.
template <int Columns, bool Inside>
struct Reach {
  int64_t offsets[Columns];  // 0 for padding
  Ints masks[Columns];

  Reach(const DepthwiseRun& d, int64_t at) {
    for (int x = 0; x < Columns; ++x) {
      const bool exists = at + x >= 0 && at + x < d.columns;
      offsets[x] = exists ? (at + x) * d.column_step : 0;
      masks[x] = splat_int(exists ? -1 : 0);
    }
  }
  template <bool Whole>
  RL_MEMBER Floats load(const float* line, int x, int64_t left) const {
    return as_floats(as_ints(load_channels<Whole>(line + offsets[x], left)) & masks[x]);
  }
  // Returns a vector whose lanes are all equal to the channel at `line`.
  RL_MEMBER Floats broadcast(const float* line, int x) const {
    return as_floats(as_ints(splat(line[offsets[x]])) & masks[x]);
  }
};
template <int Columns>
struct Reach<Columns, true> {
  int64_t first, step;

  Reach(const DepthwiseRun& d, int64_t at) : first(at * d.column_step), step(d.column_step) {}
  template <bool Whole>
  RL_MEMBER Floats load(const float* line, int x, int64_t left) const {
    return load_channels<Whole>(line + first + x * step, left);
  }
  RL_MEMBER Floats broadcast(const float* line, int x) const { return splat(line[first + x * step]); }
};

// Adds the products of one input line to `Rows` rows of outputs. column(line, x) loads column x of the line. The
// weights of the first row are at `weights`. The weights of each next row are Stride * weight_step floats before those
// of the row above it.
template <int Kernel, int Stride, int Rows, int Outputs, bool Whole, typename Column>
RL_INLINE void depthwise_line_at(const Column& column, const float* line, const float* weights, int64_t tap_step,
                                 int64_t weight_step, int64_t left, Floats (*acc)[Outputs]) {
  // A tap reads kHeld columns, of which every Stride-th column is used. The next tap reads these columns shifted by
  // one.
  constexpr int kColumns = (Outputs - 1) * Stride + Kernel, kHeld = (Outputs - 1) * Stride + 1;
  Floats in[kColumns];
  RL_UNROLL for (int x = 0; x + 1 < kHeld; ++x) in[x] = column(line, x);
  RL_UNROLL for (int kx = 0; kx < Kernel; ++kx, weights += tap_step) {
    in[kx + kHeld - 1] = column(line, kx + kHeld - 1);
    RL_UNROLL for (int r = 0; r < Rows; ++r) {
      const Floats weight = load_channels<Whole>(weights - r * Stride * weight_step, left);
      RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[r][i] = add_fused(acc[r][i], weight, in[i * Stride + kx]);
      keep_order(acc[r]);
    }
  }
}

// Adds the products of all lines of a plane to one or two rows of outputs. With two rows, the first `Stride` lines
// belong only to the upper row, the last `Stride` lines only to the lower row, and the other lines to both. Returns the
// weights of the next plane. `first` is the first channel that is read.
template <int Kernel, int Stride, int Rows, int Outputs, bool Whole, typename Column>
RL_INLINE const float* depthwise_plane_at(const Column& column, const float* const* lines, int64_t first,
                                          const float* weights, int64_t tap_step, int64_t weight_step, int64_t left,
                                          Floats (&acc)[Rows][Outputs]) {
  int l = 0;
  for (; l < (Rows == 1 ? Kernel : Stride); ++l, weights += weight_step) {
    if (!lines[l]) continue;
    depthwise_line_at<Kernel, Stride, 1, Outputs, Whole>(column, lines[l] + first, weights, tap_step, 0, left, acc);
  }
  if constexpr (Rows == 2) {
    for (; l < Kernel; ++l, weights += weight_step) {
      if (!lines[l]) continue;
      depthwise_line_at<Kernel, Stride, 2, Outputs, Whole>(column, lines[l] + first, weights, tap_step, weight_step,
                                                           left, acc);
    }
    weights -= Stride * weight_step;
    for (; l < Kernel + Stride; ++l, weights += weight_step) {
      if (!lines[l]) continue;
      depthwise_line_at<Kernel, Stride, 1, Outputs, Whole>(column, lines[l] + first, weights, tap_step, 0, left,
                                                           acc + 1);
    }
  }
  return weights;
}

// Computes `Rows` (1 or 2) rows of `Outputs` outputs. The window of the first output begins at column `at`. If `Whole`,
// computes all whole vectors of channels from c on, else `left` < kWidth channels. Inside: no window has padding on the
// left or right.
template <int Kernel, int Stride, int Rows, int Outputs, bool Inside, bool Whole>
RL_INLINE void depthwise_at(const DepthwiseRun& d, int64_t at, int64_t c, int64_t left, float* to) {
  constexpr int kColumns = (Outputs - 1) * Stride + Kernel;
  const Reach<kColumns, Inside> reach(d, at);
  const int64_t plane_lines = Kernel + (d.rows - 1) * d.stride;
  const auto column = [&](const float* line, int x) { return reach.template load<Whole>(line, x, left); };
  const float* const bias = d.bias;
  const int64_t tap_step = d.tap_step, weight_step = d.weight_step, out_step = d.out_step, row_step = d.out_row_step;
  const int64_t end = Whole ? d.channels - kWidth : c;
  const Floats low = splat(d.clamps ? d.low : -__builtin_inff()), high = splat(d.clamps ? d.high : __builtin_inff());
  for (; c <= end; c += kWidth) {
    Floats acc[Rows][Outputs];
    const Floats start = bias ? load_channels<Whole>(bias + c, left) : Floats{};
    RL_UNROLL for (int r = 0; r < Rows; ++r) { RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[r][i] = start; }
    const float* const* lines = d.lines;
    const float* weights = d.weights + c;
    for (int64_t plane = 0; plane < d.planes; ++plane, lines += plane_lines) {
      weights = depthwise_plane_at<Kernel, Stride, Rows, Outputs, Whole>(column, lines, c, weights, tap_step,
                                                                         weight_step, left, acc);
    }
    RL_UNROLL for (int r = 0; r < Rows; ++r) {
      RL_UNROLL for (int i = 0; i < Outputs; ++i) {
        const Floats value = at_most(at_least(acc[r][i], low), high);
        store_channels<Whole>(to + r * row_step + i * out_step + c, value, left);
      }
    }
  }
}

// The taps of a line of a window that several adjacent outputs use: those that read the input for at least one output,
// [first, last), and those that read no padding for any output, [begin, end).
struct Taps {
  int64_t first = 0, begin = 0, end, last;

  // The window of the first output begins at column `at`, that of the last output at column `last_at`.
  Taps(const DepthwiseRun& d, int64_t at, int64_t last_at) : end(d.kernel_w), last(d.kernel_w) {
    // Returns the first tap that is at least `columns` columns after the beginning of its window.
    const auto tap_after = [&](int64_t columns) {
      const int64_t tap = columns > 0 ? (columns + d.dilation - 1) / d.dilation : 0;
      return tap < d.kernel_w ? tap : d.kernel_w;
    };
    if (at < 0) first = tap_after(-last_at), begin = tap_after(-at);
    if (last_at + (d.kernel_w - 1) * d.dilation < d.columns) return;
    end = tap_after(d.columns - last_at), last = tap_after(d.columns - at);
  }
};

// The number of adjacent outputs of any window that are computed at a time, as far as a line has so many. Fewer sums
// would wait for each other, because a sum has one addition after another.
inline constexpr int kAnyOutputs = kIsCompact || kWidth < 8 ? 4 : 8;
// With 32 registers, the columns of these outputs stay in registers for kTaps adjacent taps. A load of each column for
// each tap would take longer than the multiplications.
inline constexpr bool kHoldsColumns = kWidth >= 16;
inline constexpr int kTaps = 8;

// Computes one row of outputs for any window. d.lines contains the lines of all d.rows rows, plane by plane.
template <int Outputs, bool Whole>
RL_INLINE void depthwise_any_at(const DepthwiseRun& d, const Taps& taps, int64_t at, int64_t c, int64_t left,
                                float* to) {
  Floats acc[Outputs];
  const Floats bias = d.bias ? load_channels<Whole>(d.bias + c, left) : Floats{};
  RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[i] = bias;
  const int64_t lines = d.kernel_h + (d.rows - 1) * d.stride;
  const int64_t step = d.stride * d.column_step, tap = d.dilation * d.column_step;
  const bool has_adjacent_taps = d.stride == 1 && d.dilation == 1;
  for (int64_t k = 0; k < d.planes * d.kernel_h; ++k) {
    const float* const line = d.lines[k / d.kernel_h * lines + k % d.kernel_h];
    if (!line) continue;
    const float* weights = d.weights + k * d.weight_step + taps.first * d.tap_step + c;
    for (int64_t kx = taps.first; kx < taps.last;) {
      const float* x = line + (at + kx * d.dilation) * d.column_step + c;
      if (kx == taps.begin && taps.begin < taps.end) {
        if constexpr (kHoldsColumns && Whole && Outputs == kAnyOutputs) {
          const auto load_column = [&](const float* first, int i) { return load(first + i * step); };
          for (; has_adjacent_taps && kx + kTaps <= taps.end; kx += kTaps, weights += kTaps * d.tap_step) {
            depthwise_line_at<kTaps, 1, 1, Outputs, true>(load_column, x, weights, d.tap_step, 0, left, &acc);
            x += kTaps * step;
          }
        }
        for (; kx < taps.end; ++kx, weights += d.tap_step, x += tap) {
          const Floats weight = load_channels<Whole>(weights, left);
          const float* at_output = x;
          RL_UNROLL for (int i = 0; i < Outputs; ++i, at_output += step) {
            acc[i] = add_fused(acc[i], weight, load_channels<Whole>(at_output, left));
          }
        }
        continue;
      }
      const Floats weight = load_channels<Whole>(weights, left);
      int64_t column = at + kx * d.dilation;
      RL_UNROLL for (int i = 0; i < Outputs; ++i, column += d.stride, x += step) {
        if (column < 0 || column >= d.columns) continue;
        acc[i] = add_fused(acc[i], weight, load_channels<Whole>(x, left));
      }
      ++kx, weights += d.tap_step;
    }
  }
  RL_UNROLL for (int i = 0; i < Outputs; ++i) {
    const Floats value = d.clamps ? at_most(at_least(acc[i], splat(d.low)), splat(d.high)) : acc[i];
    store_channels<Whole>(to + i * d.out_step + c, value, left);
  }
}

// Computes the channels from c on.
template <int Outputs>
static void depthwise_any(const DepthwiseRun& d, int64_t at, int64_t c, float* to) {
  const Taps taps(d, at, at + (Outputs - 1) * d.stride);
  for (; c + kWidth <= d.channels; c += kWidth) depthwise_any_at<Outputs, true>(d, taps, at, c, kWidth, to);
  if (c == d.channels) return;
  if constexpr (Outputs > 4) {
    depthwise_any<Outputs / 2>(d, at, c, to);
    depthwise_any<Outputs / 2>(d, at + Outputs / 2 * d.stride, c, to + Outputs / 2 * d.out_step);
  } else {
    depthwise_any_at<Outputs, false>(d, taps, at, c, d.channels - c, to);
  }
}

// In compact code, special code for a window computes only whole vectors of channels, for lines of at least 4 outputs.
// The code for any window computes the rest.
template <int Kernel, int Stride, int Rows, int Outputs>
static void depthwise_outputs(const DepthwiseRun& d, int64_t first, int64_t c) {
  const int64_t at = d.left + first * d.stride;
  float* const to = d.out + first * d.out_step;
  if constexpr (Kernel == 0) {
    depthwise_any<Outputs>(d, at, c, to);
  } else {
    const int64_t last = at + (Outputs - 1) * d.stride + (d.kernel_w - 1) * d.dilation;
    const bool is_inside = at >= 0 && last < d.columns;
    if (is_inside) {
      depthwise_at<Kernel, Stride, Rows, Outputs, true, true>(d, at, c, kWidth, to);
    } else {
      depthwise_at<Kernel, Stride, Rows, Outputs, false, true>(d, at, c, kWidth, to);
    }
    if constexpr (!kIsCompact) {
      const int64_t left = d.channels % kWidth;
      if (left > 0) depthwise_at<Kernel, Stride, Rows, Outputs, false, false>(d, at, d.channels - left, left, to);
    }
  }
}

// The number of adjacent outputs whose sums and inputs fit into 32 vector registers. 7 divides the image widths 7, 14,
// 28, 56 and 112, which are common in networks for images of 224 pixels.
inline constexpr int kManyOutputs = 7;

// Computes the channels from c on.
template <int Kernel, int Stride, int Rows>
static void depthwise_line(const DepthwiseRun& d, int64_t c) {
  int64_t x = 0;
  if constexpr (kWidth >= 16 && Stride == 1 && Rows > 1 && (Kernel == 3 || Kernel == 5)) {
    if (d.outputs % kManyOutputs == 0 || d.outputs >= 4 * kManyOutputs) {
      for (; x + kManyOutputs <= d.outputs; x += kManyOutputs) {
        depthwise_outputs<Kernel, Stride, Rows, kManyOutputs>(d, x, c);
      }
    }
  }
  if constexpr (Kernel == 0 && kAnyOutputs > 4) {
    for (; x + kAnyOutputs <= d.outputs; x += kAnyOutputs) depthwise_outputs<0, Stride, Rows, kAnyOutputs>(d, x, c);
  }
  for (; x + 4 <= d.outputs; x += 4) depthwise_outputs<Kernel, Stride, Rows, 4>(d, x, c);
  // The last outputs overlap the outputs before them.
  if (x < d.outputs && d.outputs >= 4) return depthwise_outputs<Kernel, Stride, Rows, 4>(d, d.outputs - 4, c);
  if constexpr (Rows == 1 && (Kernel == 0 || !kIsCompact)) {
    for (; x < d.outputs; ++x) depthwise_outputs<Kernel, 1, 1, 1>(d, x, c);  // one output has no stride
  }
}

// Computes the rows one after the other.
template <int Kernel, int Stride>
static void depthwise_rows_apart(const DepthwiseRun& d, int64_t c) {
  DepthwiseRun row = d;
  for (int64_t r = 0; r < d.rows; ++r, row.lines += d.stride, row.out += d.out_row_step) {
    depthwise_line<Kernel, Stride, 1>(row, c);
  }
}

template <int Kernel, int Stride>
static void depthwise_lines(const DepthwiseRun& d) {
  if constexpr (!kIsCompact) {
    if (d.rows == 2 && d.outputs >= 4) return depthwise_line<Kernel, Stride, 2>(d, 0);
  }
  depthwise_rows_apart<Kernel, Stride>(d, 0);
}

// Returns whether this build has special code for a window. There is no special code for x86-64 processors without
// AVX2.
static constexpr bool has_window(const char* name) {
#if RL_WIDTH == 4 && (RL_HAS_AVX2 || RL_HAS_AVX512)
  if (kIsSmall) return false;
#endif
  return is_selected(name);
}

// Calls the special code for a window. Returns false if there is none.
static bool depthwise_window(const DepthwiseRun& d) {
  constexpr bool kHas3 = has_window("window3"), kHas5 = has_window("window5"), kHas7 = has_window("window7");
  const int64_t kernel = d.dilation == 1 && d.kernel_h == d.kernel_w ? d.kernel_w : 0;
  if (kIsCompact && d.outputs < 4) return false;
  if (kHas3 && kernel == 3 && d.stride == 1) return depthwise_lines<3, 1>(d), true;
  if (kHas3 && kernel == 3 && d.stride == 2) return depthwise_lines<3, 2>(d), true;
  if (kHas5 && kernel == 5 && d.stride == 1) return depthwise_lines<5, 1>(d), true;
  if (kHas5 && kernel == 5 && d.stride == 2) return depthwise_lines<5, 2>(d), true;
  if (kHas7 && kernel == 7 && d.stride == 1) return depthwise_lines<7, 1>(d), true;
  return false;
}

static void depthwise_run(const DepthwiseRun& d) {
  int64_t done = 0;  // channels
  if (depthwise_window(d)) done = kIsCompact ? d.channels - d.channels % kWidth : d.channels;
  if (done == d.channels) return;
  depthwise_rows_apart<0, 0>(d, done);
}

#ifdef RL_PERMUTES
// A grouped convolution with a window of 3 x 3; compare depthwise_at(). Each plane is made in registers: a permutation
// of the inputs puts the channel that an output reads into its lane. OneGroup: all outputs of a vector belong to one
// group, and the channel is broadcast.
template <int Stride, int Rows, int Outputs, bool Inside, bool Whole, bool OneGroup>
RL_INLINE void grouped_vector(const DepthwiseRun& d, const GroupedChannels& g,
                              const Reach<(Outputs - 1) * Stride + 3, Inside>& reach, int64_t c, float* to) {
  const int64_t left = d.channels - c < kWidth ? d.channels - c : kWidth,
                channel = c / g.group_outputs * g.group_inputs;
  const int64_t inputs = g.count - channel < kWidth ? g.count - channel : kWidth;
  Ints index;
  for (int i = 0; i < kWidth; ++i) index[i] = static_cast<int32_t>(i / g.group_outputs * g.group_inputs);
  Floats acc[Rows][Outputs];
  RL_UNROLL for (int r = 0; r < Rows; ++r) { RL_UNROLL for (int i = 0; i < Outputs; ++i) acc[r][i] = Floats{}; }
  const float* const* const lines = d.lines;
  const int64_t tap_step = d.tap_step, weight_step = d.weight_step;
  const float* weights = d.weights + c;
  for (int64_t plane = 0; plane < d.planes; ++plane, index += splat_int(1)) {
    const int64_t first = OneGroup ? channel + plane : channel;
    const auto column = [&](const float* line, int x) {
      return OneGroup ? reach.broadcast(line, x) : permuted(reach.template load<Whole>(line, x, inputs), index);
    };
    weights = depthwise_plane_at<3, Stride, Rows, Outputs, Whole>(column, lines, first, weights, tap_step, weight_step,
                                                                  left, acc);
  }
  const Floats bias = d.bias ? load_channels<Whole>(d.bias + c, left) : Floats{};
  const Floats low = splat(d.clamps ? d.low : -__builtin_inff()), high = splat(d.clamps ? d.high : __builtin_inff());
  RL_UNROLL for (int r = 0; r < Rows; ++r) {
    RL_UNROLL for (int i = 0; i < Outputs; ++i) {
      const Floats value = at_most(at_least(acc[r][i] + bias, low), high);
      store_channels<Whole>(to + r * d.out_row_step + i * d.out_step + c, value, left);
    }
  }
}

template <int Stride, int Rows, int Outputs, bool Inside>
static void grouped_outputs_at(const DepthwiseRun& d, const GroupedChannels& g, int64_t at, float* to) {
  const Reach<(Outputs - 1) * Stride + 3, Inside> reach(d, at);
  if constexpr (Outputs > 1 && kWidth == 8) {  // with 16 elements, a permutation is as fast as a broadcast
    if (g.group_outputs == kWidth) {
      for (int64_t c = 0; c < d.channels; c += kWidth) {
        grouped_vector<Stride, Rows, Outputs, Inside, true, true>(d, g, reach, c, to);
      }
      return;
    }
  }
  for (int64_t c = 0; c < d.channels; c += kWidth) {
    const bool is_whole = c + kWidth <= d.channels && c / g.group_outputs * g.group_inputs + kWidth <= g.count;
    is_whole ? grouped_vector<Stride, Rows, Outputs, Inside, true, false>(d, g, reach, c, to)
             : grouped_vector<Stride, Rows, Outputs, Inside, false, false>(d, g, reach, c, to);
  }
}

template <int Stride, int Rows, int Outputs>
static void grouped_outputs(const DepthwiseRun& d, const GroupedChannels& g, int64_t first) {
  const int64_t at = d.left + first * d.stride, last = at + (Outputs - 1) * d.stride + 2;
  float* const to = d.out + first * d.out_step;
  if constexpr (Outputs > 1) {
    if (at >= 0 && last < d.columns) return grouped_outputs_at<Stride, Rows, Outputs, true>(d, g, at, to);
  }
  grouped_outputs_at<Stride, Rows, Outputs, false>(d, g, at, to);
}

// The number of adjacent outputs of grouped convolutions. A line without a second line is the last one of an image.
template <int Stride, int Rows>
inline constexpr int kGroupedOutputs = kWidth >= 16 && Stride == 1 && Rows > 1 ? kManyOutputs : 4;

template <int Stride, int Rows>
static void grouped_lines(const DepthwiseRun& d, const GroupedChannels& g) {
  constexpr int kMany = kGroupedOutputs<Stride, Rows>;
  int64_t x = 0;
  for (; x + kMany <= d.outputs; x += kMany) grouped_outputs<Stride, Rows, kMany>(d, g, x);
  // The last outputs overlap the outputs before them.
  if (x < d.outputs && d.outputs >= kMany) return grouped_outputs<Stride, Rows, kMany>(d, g, d.outputs - kMany);
  if constexpr (Rows == 1) {
    for (; x < d.outputs; ++x) grouped_outputs<1, 1, 1>(d, g, x);  // one output has no stride
  } else if constexpr (kMany > 4) {
    for (; x < d.outputs; ++x) grouped_outputs<Stride, Rows, 1>(d, g, x);
  }
}

template <int Stride>
static void grouped_rows(const DepthwiseRun& d, const GroupedChannels& g) {
  if (d.rows == 2 && (kGroupedOutputs<Stride, 2> > 4 || d.outputs >= 4)) return grouped_lines<Stride, 2>(d, g);
  DepthwiseRun row = d;
  for (int64_t r = 0; r < d.rows; ++r, row.lines += d.stride, row.out += d.out_row_step) {
    grouped_lines<Stride, 1>(row, g);
  }
}

static void grouped_3x3(const DepthwiseRun& d, const GroupedChannels& g) {
  d.stride == 1 ? grouped_rows<1>(d, g) : grouped_rows<2>(d, g);
}
#endif

// Returns a vector of one plane: element I is channel `Plane` of the group of output I.
template <int Inputs, int Outputs, int Plane, int... I>
RL_INLINE Floats plane_of(Floats x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, (I / Outputs * Inputs + Plane)...);
}

template <int Inputs, int Outputs, int Plane = 0>
RL_INLINE void store_planes(const float* from, int64_t left, float* to, int64_t plane_step) {
  if constexpr (Plane < Inputs) {
    if constexpr (Outputs >= kWidth) {
      store(to, splat(from[Plane]));
    } else {
      const Floats x = left >= kWidth ? load(from) : load_few(from, left);
      store(to, plane_of<Inputs, Outputs, Plane>(x, std::make_integer_sequence<int, kWidth>{}));
    }
    store_planes<Inputs, Outputs, Plane + 1>(from, left, to + plane_step, plane_step);
  }
}

// Writes whole vectors of all planes. Returns the number of outputs that are done; the remaining outputs fill less than
// a vector.
template <int Inputs, int Outputs>
static int64_t grouped_vectors(const GroupedLine& l) {
  const int64_t whole = l.count / kWidth * kWidth, plane_step = l.columns * l.count;
  for (int64_t x = 0; x < l.columns; ++x) {
    for (int64_t o = 0; o < whole; o += kWidth) {
      const int64_t channel = (l.first + o) / Outputs * Inputs;
      store_planes<Inputs, Outputs>(l.from + x * l.column_step + channel, l.channels - channel, l.to + x * l.count + o,
                                    plane_step);
    }
  }
  return whole;
}

static void grouped_line(const GroupedLine& l) {
  // A vector contains whole groups, or a part of one group.
  int64_t done = 0;
  if (l.group_inputs == l.group_outputs) {
    if (l.group_inputs == 2) done = grouped_vectors<2, 2>(l);
    if (l.group_inputs == 4) done = grouped_vectors<4, 4>(l);
    if (l.group_inputs == 8) done = grouped_vectors<8, 8>(l);
  } else if (l.group_inputs == 2 && l.group_outputs == 4) {
    done = grouped_vectors<2, 4>(l);
  } else if (l.group_inputs == 1) {
    if (l.group_outputs == 2) done = grouped_vectors<1, 2>(l);
    if (l.group_outputs == 4) done = grouped_vectors<1, 4>(l);
  }
  const int64_t group = (l.first + done) / l.group_outputs;
  for (int64_t plane = 0; plane < l.group_inputs; ++plane) {
    for (int64_t x = 0; x < l.columns; ++x) {
      const float* from = l.from + x * l.column_step + plane + group * l.group_inputs;
      float* const to = l.to + (plane * l.columns + x) * l.count;
      int64_t end = (group + 1) * l.group_outputs - l.first;
      for (int64_t o = done; o < l.count; end += l.group_outputs, from += l.group_inputs) {
        for (const int64_t last = end < l.count ? end : l.count; o < last; ++o) to[o] = *from;
      }
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
