// Elementwise loops over float32. The output may be the memory of an input.
#pragma once

#include <utility>

#include "microkernels/elementwise/impl/f32_functions.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

template <typename Function>
RL_INLINE void map(const float* x, float* y, int64_t n, const Function& f) {
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Floats a = f(load(x + i)), b = f(load(x + i + kWidth));
    store(y + i, a);
    store(y + i + kWidth, b);
  }
  for (; i + kWidth <= n; i += kWidth) store(y + i, f(load(x + i)));
  if (i < n) store_few(y + i, f(load_few(x + i, n - i, 1.0f)), n - i);
}

// Computes `rows` rows of n floats, which are `step` floats apart in x and in y.
RL_ONCE_STATIC void unary_rows(UnaryOp op, const float* x, float* y, int64_t step, int64_t rows, int64_t n, float p,
                               float q) {
  if (n == step) n *= rows, rows = 1;  // the rows are adjacent
  with_unary(op, p, q, [&](const auto& f) {
    for (int64_t i = 0; i < rows; ++i) map(x + i * step, y + i * step, n, f);
  });
}

static void unary(UnaryOp op, const float* x, float* y, int64_t n, float p, float q) {
  unary_rows(op, x, y, 0, 1, n, p, q);
}

// A step is 1, or 0 for a scalar operand.
template <typename Function>
RL_INLINE void map(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n,
                   const Function& f) {
  int64_t i = 0;
  if (a_step && b_step) {
    for (; i + kWidth <= n; i += kWidth) store(y + i, f(load(a + i), load(b + i)));
    if (i < n) store_few(y + i, f(load_few(a + i, n - i), load_few(b + i, n - i, 1.0f)), n - i);
  } else if (a_step) {
    const Floats fixed = splat(*b);
    map(a, y, n, [&](Floats v) { return f(v, fixed); });
  } else {
    const Floats fixed = splat(*a);
    map(b, y, n, [&](Floats v) { return f(fixed, v); });
  }
}

static void binary(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n,
                   float p) {
  with_binary(op, p, [&](const auto& f) { map(a, a_step, b, b_step, y, n, f); });
}

typedef uint8_t Bools __attribute__((vector_size(kWidth)));
typedef uint8_t UnalignedBools __attribute__((vector_size(kWidth), aligned(1), may_alias));

// Loads n elements, 0 < n <= kWidth, or a scalar operand if the step is 0.
RL_INLINE Floats load_operand(const float* p, int64_t step, int64_t i, int64_t n) {
  if (!step) return splat(*p);
  return n == kWidth ? load(p + i) : load_few(p + i, n);
}

// f(a, b) returns a mask.
template <typename Function>
RL_INLINE void compare_with(const float* a, int64_t a_step, const float* b, int64_t b_step, uint8_t* y, int64_t n,
                            const Function& f) {
  for (int64_t i = 0; i < n; i += kWidth) {
    const int64_t count = n - i < kWidth ? n - i : kWidth;
    const Ints mask = f(load_operand(a, a_step, i, count), load_operand(b, b_step, i, count));
    const Bools result = __builtin_convertvector(mask & splat_int(1), Bools);
    if (count == kWidth) {
      *reinterpret_cast<UnalignedBools*>(y + i) = result;
    } else {
      __builtin_memcpy(y + i, &result, static_cast<size_t>(count));
    }
  }
}

// a > b is b < a, and a != b is the opposite of a == b. So there are few copies of the loop.
static void compare(CompareOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, uint8_t* y,
                    int64_t n) {
  if (op == CompareOp::Greater || op == CompareOp::GreaterEqual) std::swap(a, b), std::swap(a_step, b_step);
  if (op == CompareOp::Equal || op == CompareOp::NotEqual) {
    const Ints opposite = splat_int(op == CompareOp::NotEqual ? -1 : 0);
    return compare_with(a, a_step, b, b_step, y, n, [=](Floats u, Floats v) { return (u == v) ^ opposite; });
  }
  if (op == CompareOp::Less || op == CompareOp::Greater) {
    return compare_with(a, a_step, b, b_step, y, n, [](Floats u, Floats v) { return u < v; });
  }
  compare_with(a, a_step, b, b_step, y, n, [](Floats u, Floats v) { return u <= v; });
}

static void where(const uint8_t* c, int64_t c_step, const float* a, int64_t a_step, const float* b, int64_t b_step,
                  float* y, int64_t n) {
  const Ints always = splat_int(!c_step && *c ? -1 : 0);
  for (int64_t i = 0; i < n; i += kWidth) {
    const int64_t count = n - i < kWidth ? n - i : kWidth;
    Ints mask = always;
    if (c_step) {
      Bools condition{};
      if (count == kWidth) {
        condition = *reinterpret_cast<const UnalignedBools*>(c + i);
      } else {
        __builtin_memcpy(&condition, c + i, static_cast<size_t>(count));
      }
      mask = __builtin_convertvector(condition, Ints) != 0;
    }
    const Floats v = select(mask, load_operand(a, a_step, i, count), load_operand(b, b_step, i, count));
    count == kWidth ? store(y + i, v) : store_few(y + i, v, count);
  }
}

// Prologues: clamp(x * scale + shift) for each channel of a row. Scaled, Shifted: whether there is a scale or a shift.
template <bool Scaled, bool Shifted>
static void prologue_of(const Prologue& p, const float* const* rows, int64_t count, int64_t channels, float* to) {
  const Floats low = splat(p.low), high = splat(p.high);
  const float *const scale = p.scale, *const shift = p.shift;
  const auto result = [&](Floats x, int64_t c, auto load) {
    if constexpr (Scaled && Shifted) {
      x = add_fused(load(shift + c), x, load(scale + c));
    } else if constexpr (Scaled) {
      x *= load(scale + c);
    } else if constexpr (Shifted) {
      x += load(shift + c);
    }
    return at_most(at_least(x, low), high);
  };
  for (int64_t i = 0; i < count; ++i, to += channels) {
    const float* const row = rows[i];
    int64_t c = 0;
    for (; c + kWidth <= channels; c += kWidth) {
      store(to + c, result(load(row + c), c, [](const float* from) { return load(from); }));
    }
    if (c == channels) continue;
    const int64_t left = channels - c;
    store_few(to + c, result(load_few(row + c, left), c, [=](const float* from) { return load_few(from, left); }),
              left);
  }
}

static void prologue(const Prologue& p, const float* const* rows, int64_t count, int64_t channels, float* to) {
  if (p.scale) {
    return p.shift ? prologue_of<true, true>(p, rows, count, channels, to)
                   : prologue_of<true, false>(p, rows, count, channels, to);
  }
  return p.shift ? prologue_of<false, true>(p, rows, count, channels, to)
                 : prologue_of<false, false>(p, rows, count, channels, to);
}

}  // namespace rushlight::microkernels::RL_ISA
