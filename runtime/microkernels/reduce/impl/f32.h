// Sums, extremes, softmax and normalization of rows.
#pragma once

#include "microkernels/elementwise/impl/f32.h"
#include "microkernels/simd/math.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

template <typename Function>
RL_INLINE void reduce_rows_with(const float* x, int64_t stride, int64_t rows, float* y, int64_t n, const Function& f) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const float* const from = x + r * stride;
    const auto fold = [&](Floats sum, const auto& row) {
      return f(sum, f(f(f(row(0), row(1)), f(row(2), row(3))), f(f(row(4), row(5)), f(row(6), row(7)))));
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      store(y + i, fold(load(y + i), [&](int64_t k) { return load(from + k * stride + i); }));
    }
    if constexpr (kIsCompact) {
      for (; i < n; ++i) y[i] = fold(splat(y[i]), [&](int64_t k) { return splat(from[k * stride + i]); })[0];
    } else if (i < n) {
      const auto few = [&](int64_t k) { return load_few(from + k * stride + i, n - i); };
      store_few(y + i, fold(load_few(y + i, n - i), few), n - i);
    }
  }
  for (; r < rows; ++r) map(y, 1, x + r * stride, 1, y, n, f);
}

static void reduce_rows(BinaryOp op, const float* x, int64_t stride, int64_t rows, float* y, int64_t n) {
  if (op == BinaryOp::Add) return reduce_rows_with(x, stride, rows, y, n, [](Floats u, Floats v) { return u + v; });
  if constexpr (is_selected("extremes")) {
    if (op == BinaryOp::Maximum) {
      return reduce_rows_with(x, stride, rows, y, n, [](Floats u, Floats v) { return maximum(u, v); });
    }
    reduce_rows_with(x, stride, rows, y, n, [](Floats u, Floats v) { return minimum(u, v); });
  }
}

// Adds columns of rows of a table; the sums of Vectors * kWidth columns stay in registers.
template <int Vectors>
RL_INLINE void add_gathered_columns(const float* table, int64_t stride, const int64_t* rows, const float* scales,
                                    int64_t count, float* y) {
  Floats sums[Vectors];
  RL_UNROLL for (int v = 0; v < Vectors; ++v) sums[v] = load(y + v * kWidth);
  for (int64_t i = 0; i < count; ++i) {
    const float* const row = table + rows[i] * stride;
    if (scales) {
      const Floats scale = splat(scales[i]);
      RL_UNROLL for (int v = 0; v < Vectors; ++v) sums[v] += scale * load(row + v * kWidth);
    } else {
      RL_UNROLL for (int v = 0; v < Vectors; ++v) sums[v] += load(row + v * kWidth);
    }
  }
  RL_UNROLL for (int v = 0; v < Vectors; ++v) store(y + v * kWidth, sums[v]);
}

static void add_gathered_rows(const float* table, int64_t stride, const int64_t* rows, const float* scales,
                              int64_t count, float* y, int64_t n) {
  int64_t j = 0;
  for (; j + 4 * kWidth <= n; j += 4 * kWidth) {
    add_gathered_columns<4>(table + j, stride, rows, scales, count, y + j);
  }
  for (; j + kWidth <= n; j += kWidth) add_gathered_columns<1>(table + j, stride, rows, scales, count, y + j);
  const int64_t rest = n - j;
  if (rest <= 0 || rest >= kWidth) return;
  Floats sums = load_few(y + j, rest);
  for (int64_t i = 0; i < count; ++i) {
    sums += splat(scales ? scales[i] : 1.0f) * load_few(table + rows[i] * stride + j, rest);
  }
  store_few(y + j, sums, rest);
}

// Returns the sum of f(x[i]). Blocks are summed in float32 with four vectors, and the sums of the blocks in float64.
template <typename Function>
RL_INLINE double sum_of(const float* x, int64_t n, const Function& f) {
  constexpr int64_t kBlock = 128 * kWidth;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    Floats sums[4] = {};
    int64_t i = begin;
    for (; i + 4 * kWidth <= end; i += 4 * kWidth) {
      RL_UNROLL for (int v = 0; v < 4; ++v) sums[v] += f(load(x + i + v * kWidth));
    }
    for (; i + kWidth <= end; i += kWidth) sums[0] += f(load(x + i));
    if (i < end) sums[1] += first_lanes_of(f(load_few(x + i, end - i)), end - i);
    total += static_cast<double>(sum((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

static double sum_row(const float* x, int64_t n) {
  return sum_of(x, n, [](Floats v) { return v; });
}

static double squared_deviations(const float* x, int64_t n, float mean) {
  return sum_of(x, n, [=](Floats v) {
    const Floats d = v - mean;
    return d * d;
  });
}

// Returns the largest or smallest x[i], or NaN if an x[i] is NaN. n > 0.
static float extreme(bool largest, const float* x, int64_t n) {
  const auto run = [&](const auto& replaces, const auto& of_lanes) {
    Floats best[4];
    RL_UNROLL for (int v = 0; v < 4; ++v) best[v] = splat(x[0]);
    const auto update = [&](Floats& to, Floats v) { to = select(replaces(v, to) | (v != v), v, to); };
    int64_t i = 0;
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
      RL_UNROLL for (int v = 0; v < 4; ++v) update(best[v], load(x + i + v * kWidth));
    }
    for (; i + kWidth <= n; i += kWidth) update(best[0], load(x + i));
    RL_UNROLL for (int v = 1; v < 4; ++v) update(best[0], best[v]);
    float value = of_lanes(best[0]);
    for (; i < n; ++i) value = (replaces(x[i], value) || x[i] != x[i]) ? x[i] : value;
    return value;
  };
  if (largest) return run([](auto v, auto best) { return v > best; }, [](Floats v) { return max_of(v); });
  return run([](auto v, auto best) { return v < best; }, [](Floats v) { return min_of(v); });
}

// Computes y = (x - mean) * scale * weight + bias for a row.
RL_INLINE void normalize_row(const NormalizedRows& r, const float* x, float* y, float mean, float scale) {
  const Floats shift = splat(mean), factor = splat(scale);
  int64_t i = 0;
  for (; i + kWidth <= r.n; i += kWidth) {
    Floats v = (load(x + i) - shift) * factor;
    if (r.weight) v *= load(r.weight + i);
    if (r.bias) v += load(r.bias + i);
    store(y + i, v);
  }
  if (i < r.n) {
    Floats v = (load_few(x + i, r.n - i) - shift) * factor;
    if (r.weight) v *= load_few(r.weight + i, r.n - i);
    if (r.bias) v += load_few(r.bias + i, r.n - i);
    store_few(y + i, v, r.n - i);
  }
}

// Each part of the computation runs for several rows, which stay in the first-level cache. The rows do not wait for
// each other's sums, divisions and roots.
static void normalize_rows(const NormalizedRows& all) {
  constexpr int64_t kMaxRows = 16, kFloats = 4096;
  if (all.n == 0) return;
  const double share = 1.0 / static_cast<double>(all.n);
  const int64_t fitting = kFloats / all.n, block = fitting < 1 ? 1 : fitting < kMaxRows ? fitting : kMaxRows;
  float means[kMaxRows] = {}, scales[kMaxRows];
  NormalizedRows r = all;
  while (r.rows > 0) {
    const int64_t count = r.rows < block ? r.rows : block;
    if (r.subtracts_mean) {
      for (int64_t i = 0; i < count; ++i) means[i] = static_cast<float>(sum_row(r.x + i * r.x_step, r.n) * share);
    }
    for (int64_t i = 0; i < count; ++i) {
      const double variance = squared_deviations(r.x + i * r.x_step, r.n, means[i]) * share;
      scales[i] = static_cast<float>(1.0 / __builtin_sqrt(variance + r.epsilon));
    }
    for (int64_t i = 0; i < count; ++i) normalize_row(r, r.x + i * r.x_step, r.y + i * r.y_step, means[i], scales[i]);
    if (r.means) __builtin_memcpy(r.means, means, static_cast<size_t>(count) * sizeof(float)), r.means += count;
    if (r.scales) __builtin_memcpy(r.scales, scales, static_cast<size_t>(count) * sizeof(float)), r.scales += count;
    r.x += count * r.x_step, r.y += count * r.y_step, r.rows -= count;
  }
}

static void divide_by_norms(const float* x, int64_t x_step, float* y, int64_t y_step, int64_t rows, int64_t n,
                            float epsilon) {
  for (int64_t row = 0; row < rows; ++row, x += x_step, y += y_step) {
    const double norm = __builtin_sqrt(sum_of(x, n, [](Floats v) { return v * v; }));
    const float factor = static_cast<float>(1.0 / (norm < static_cast<double>(epsilon) ? epsilon : norm));
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) store(y + i, load(x + i) * factor);
    if (i < n) store_few(y + i, load_few(x + i, n - i) * factor, n - i);
  }
}

// NaN needs no check here, because exp() propagates it to the results.
RL_INLINE float softmax_largest(const float* x, int64_t n) {
  Floats best[2] = {splat(x[0]), splat(x[0])};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    RL_UNROLL for (int v = 0; v < 2; ++v) best[v] = at_least(best[v], load(x + i + v * kWidth));
  }
  for (; i < n; i += kWidth) {
    best[0] = at_least(best[0], n - i >= kWidth ? load(x + i) : load_few(x + i, n - i, x[0]));
  }
  return across(at_least(best[0], best[1]), [](Floats a, Floats b) { return at_least(a, b); })[0];
}

static void softmax(bool logarithm, const float* x, float* y, int64_t n) {
  const float largest = softmax_largest(x, n);
  Floats sums = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Floats e = exp_or_zero(load(x + i) - largest);
    sums += e;
    if (!logarithm) store(y + i, e);
  }
  if (i < n) {
    const Floats e = exp_or_zero(load_few(x + i, n - i) - largest);
    sums += first_lanes_of(e, n - i);
    if (!logarithm) store_few(y + i, e, n - i);
  }
  const float total = sum(sums);
  if (logarithm) {
    const float shift = __builtin_logf(total);
    map(x, y, n, [=](Floats v) { return (v - largest) - shift; });
  } else {
    const float scale = 1.0f / total;
    map(y, y, n, [=](Floats v) { return v * scale; });
  }
}

// Softmax of columns [0, columns), each over n rows, which are `stride` floats apart in x and y.
static void softmax_columns(bool logarithm, const float* x, float* y, int64_t n, int64_t stride, int64_t columns) {
  for (int64_t j = 0; j < columns; j += kWidth) {
    const int64_t width = columns - j < kWidth ? columns - j : kWidth;
    const auto row = [&](int64_t i) {
      const float* from = x + i * stride + j;
      return width == kWidth ? load(from) : load_few(from, width);
    };
    const auto put = [&](int64_t i, Floats v) {
      float* to = y + i * stride + j;
      width == kWidth ? store(to, v) : store_few(to, v, width);
    };
    Floats largest = row(0);
    for (int64_t i = 1; i < n; ++i) largest = at_least(largest, row(i));
    Floats total = {};
    for (int64_t i = 0; i < n; ++i) {
      const Floats e = exp_or_zero(row(i) - largest);
      total += e;
      if (!logarithm) put(i, e);
    }
    if (logarithm) {
      const Floats shift = log(total);
      for (int64_t i = 0; i < n; ++i) put(i, (row(i) - largest) - shift);
    } else {
      const Floats scale = 1.0f / total;
      for (int64_t i = 0; i < n; ++i) {
        const float* const from = y + i * stride + j;
        put(i, (width == kWidth ? load(from) : load_few(from, width)) * scale);
      }
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
