// Loops over float16 and bfloat16, in namespace rushlight::microkernels::RL_ISA. The output may be the memory of an
// input.
#pragma once

#include "microkernels/elementwise/impl/f32_functions.h"
#include "microkernels/simd/f16_types.h"
#include "microkernels/tables/f16.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

// Loads the first n numbers, 0 < n <= kWidth; the other lanes are `fill`.
RL_INLINE Shorts load_few_shorts(const uint16_t* p, int64_t n, uint16_t fill = 0) {
  Shorts v = Shorts{} + fill;
  __builtin_memcpy(&v, p, static_cast<size_t>(n) * 2);
  return v;
}
RL_INLINE void store_few_shorts(uint16_t* p, Shorts v, int64_t n) {
  __builtin_memcpy(p, &v, static_cast<size_t>(n) * 2);
}

template <typename T, typename Function>
RL_INLINE void map_f16(const uint16_t* x, uint16_t* y, int64_t n, const Function& f) {
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Shorts a = T::narrow(f(T::widen(load_shorts(x + i))));
    const Shorts b = T::narrow(f(T::widen(load_shorts(x + i + kWidth))));
    store_shorts(y + i, a);
    store_shorts(y + i + kWidth, b);
  }
  for (; i < n; i += kWidth) {
    const int64_t few = n - i < kWidth ? n - i : kWidth;
    store_few_shorts(y + i, T::narrow(f(T::widen(load_few_shorts(x + i, few)))), few);
  }
}

template <typename T, typename Function>
RL_INLINE void map_f16(const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step, uint16_t* y, int64_t n,
                       const Function& f) {
  if (a_step && b_step) {
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      store_shorts(y + i, T::narrow(f(T::widen(load_shorts(a + i)), T::widen(load_shorts(b + i)))));
    }
    if (i < n) {
      const Shorts u = load_few_shorts(a + i, n - i), v = load_few_shorts(b + i, n - i);
      store_few_shorts(y + i, T::narrow(f(T::widen(u), T::widen(v))), n - i);
    }
  } else if (a_step) {
    const Floats fixed = T::widen(Shorts{} + *b);
    map_f16<T>(a, y, n, [&](Floats v) { return f(v, fixed); });
  } else {
    const Floats fixed = T::widen(Shorts{} + *a);
    map_f16<T>(b, y, n, [&](Floats v) { return f(fixed, v); });
  }
}

template <typename T>
static double sum_f16(const uint16_t* x, int64_t n) {
  constexpr int64_t kBlock = 128 * kWidth;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    Floats sums[4] = {};
    int64_t i = begin;
    for (; i + 4 * kWidth <= end; i += 4 * kWidth) {
      RL_UNROLL for (int v = 0; v < 4; ++v) sums[v] += T::widen(load_shorts(x + i + v * kWidth));
    }
    for (; i < end; i += kWidth) sums[0] += T::widen(load_few_shorts(x + i, end - i < kWidth ? end - i : kWidth));
    total += static_cast<double>(sum((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

template <typename T, typename Function>
RL_INLINE Floats extreme_f16(const uint16_t* x, int64_t n, const Function& better) {
  Floats best[4];
  RL_UNROLL for (int v = 0; v < 4; ++v) best[v] = T::widen(Shorts{} + *x);
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    RL_UNROLL for (int v = 0; v < 4; ++v) best[v] = better(T::widen(load_shorts(x + i + v * kWidth)), best[v]);
  }
  for (; i < n; i += kWidth) {
    best[0] = better(T::widen(load_few_shorts(x + i, n - i < kWidth ? n - i : kWidth, *x)), best[0]);
  }
  return better(better(best[0], best[1]), better(best[2], best[3]));
}

template <typename T, typename Function>
RL_INLINE void reduce_dims_f16(const uint16_t* x, int64_t stride, int64_t rows, float* y, int64_t n,
                               const Function& f) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const uint16_t* const from = x + r * stride;
    const auto fold = [&](Floats sum, const auto& row) {
      return f(sum, f(f(f(row(0), row(1)), f(row(2), row(3))), f(f(row(4), row(5)), f(row(6), row(7)))));
    };
    int64_t j = 0;
    for (; j + kWidth <= n; j += kWidth) {
      store(y + j, fold(load(y + j), [&](int64_t k) { return T::widen(load_shorts(from + k * stride + j)); }));
    }
    if (j < n) {
      const auto few = [&](int64_t k) { return T::widen(load_few_shorts(from + k * stride + j, n - j)); };
      store_few(y + j, fold(load_few(y + j, n - j), few), n - j);
    }
  }
  for (; r < rows; ++r) {
    const uint16_t* const from = x + r * stride;
    for (int64_t j = 0; j < n; j += kWidth) {
      const int64_t few = n - j < kWidth ? n - j : kWidth;
      store_few(y + j, f(load_few(y + j, few), T::widen(load_few_shorts(from + j, few))), few);
    }
  }
}

[[maybe_unused]] static void f16_unary(F16Type type, UnaryOp op, const uint16_t* x, uint16_t* y, int64_t n, float p,
                                       float q) {
  for_f16(type,
          [&](auto tag) { with_cheap_unary(op, p, q, [&](const auto& f) { map_f16<decltype(tag)>(x, y, n, f); }); });
}

[[maybe_unused]] static void f16_binary(F16Type type, BinaryOp op, const uint16_t* a, int64_t a_step, const uint16_t* b,
                                        int64_t b_step, uint16_t* y, int64_t n) {
  for_f16(type, [&](auto tag) {
    with_cheap_binary(op, 0, [&](const auto& f) { map_f16<decltype(tag)>(a, a_step, b, b_step, y, n, f); });
  });
}

static double f16_sum(F16Type type, const uint16_t* x, int64_t n) {
  return type == F16Type::Float16 ? sum_f16<Float16>(x, n) : sum_f16<BFloat16Bits>(x, n);
}

static float f16_extreme(F16Type type, bool largest, const uint16_t* x, int64_t n) {
  float value = 0;
  for_f16(type, [&](auto tag) {
    using T = decltype(tag);
    value = largest ? max_of(extreme_f16<T>(x, n, [](Floats u, Floats v) { return maximum(u, v); }))
                    : min_of(extreme_f16<T>(x, n, [](Floats u, Floats v) { return minimum(u, v); }));
  });
  return value;
}

static void f16_reduce_rows(F16Type type, BinaryOp op, const uint16_t* x, int64_t stride, int64_t rows, float* y,
                            int64_t n) {
  for_f16(type, [&](auto tag) {
    using T = decltype(tag);
    if (op == BinaryOp::Add) {
      return reduce_dims_f16<T>(x, stride, rows, y, n, [](Floats u, Floats v) { return u + v; });
    }
    if (op == BinaryOp::Maximum) {
      return reduce_dims_f16<T>(x, stride, rows, y, n, [](Floats u, Floats v) { return maximum(u, v); });
    }
    reduce_dims_f16<T>(x, stride, rows, y, n, [](Floats u, Floats v) { return minimum(u, v); });
  });
}

static void widen_f16(F16Type type, const uint16_t* x, int64_t n, float* y) {
  for_f16(type, [&](auto tag) {
    using T = decltype(tag);
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) store(y + i, T::widen(load_shorts(x + i)));
    if (i < n) store_few(y + i, T::widen(load_few_shorts(x + i, n - i)), n - i);
  });
}

static void narrow_f16(F16Type type, const float* x, int64_t n, uint16_t* y) {
  for_f16(type, [&](auto tag) {
    using T = decltype(tag);
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) store_shorts(y + i, T::narrow(load(x + i)));
    if (i < n) store_few_shorts(y + i, T::narrow(load_few(x + i, n - i)), n - i);
  });
}

static constexpr F16Microkernels make_f16_table(const char* name) {
  F16Microkernels t{};
  t.name = name;
  if (!is_selected("f16")) return t;
  // Small code converts to float32 and back in memory.
  if constexpr (!kIsSmall) {
    RL_SET(unary, f16_unary);
    RL_SET(binary, f16_binary);
  }
  RL_SET(sum, f16_sum);
  RL_SET(extreme, f16_extreme);
  RL_SET(reduce_rows, f16_reduce_rows);
  RL_SET(widen, widen_f16);
  RL_SET(narrow, narrow_f16);
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
