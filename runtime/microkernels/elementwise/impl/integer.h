// Loops over integers that compilers vectorize, in namespace rushlight::microkernels::RL_ISA.
#pragma once

#include <type_traits>
#include <utility>

#include "microkernels/simd/inline.h"
#include "microkernels/tables/integer.h"
#include "microkernels/tables/selected.h"

// Tells the compiler that iterations of a loop are independent.
#if defined(__clang__)
#define RL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace rushlight::microkernels::RL_ISA {

// y[i] = f(a[i], b[i]), where f(u, v) is f(v, u).
template <typename T, typename R, typename Function>
RL_INLINE void map_commutative(const T* a, int64_t a_step, const T* b, int64_t b_step, R* y, int64_t n,
                               const Function& f) {
  if (!a_step) std::swap(a, b), std::swap(a_step, b_step);
  if (b_step) {
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else {
    const T fixed = *b;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], fixed);
  }
}

template <typename T, typename R, typename Function>
RL_INLINE void map_integers(const T* a, int64_t a_step, const T* b, int64_t b_step, R* y, int64_t n,
                            const Function& f) {
  if (a_step && b_step) {
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (a_step) {
    const T fixed = *b;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], fixed);
  } else {
    const T fixed = *a;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = f(fixed, b[i]);
  }
}

// Calls body(T()), where T is the C++ type of `type`.
template <typename Body>
RL_INLINE void for_type(IntegerType type, const Body& body) {
  switch (type) {
    case IntegerType::UInt8:
      return body(uint8_t());
    case IntegerType::Int8:
      return body(int8_t());
    case IntegerType::Int16:
      return body(int16_t());
    case IntegerType::Int32:
      return body(int32_t());
    case IntegerType::Int64:
      return body(int64_t());
  }
}

template <typename T>
static void binary_of(IntegerOp op, const T* a, int64_t a_step, const T* b, int64_t b_step, T* y, int64_t n) {
  using U = std::make_unsigned_t<T>;
  // Small types are multiplied as uint32_t, because the product of two promoted ints might overflow.
  using Product = std::conditional_t<(sizeof(T) < 4), uint32_t, U>;
  switch (op) {
    case IntegerOp::Add:
      return map_commutative(a, a_step, b, b_step, y, n, [](T u, T v) {
        return static_cast<T>(static_cast<U>(static_cast<U>(u) + static_cast<U>(v)));
      });
    case IntegerOp::Sub:
      return map_integers(a, a_step, b, b_step, y, n, [](T u, T v) {
        return static_cast<T>(static_cast<U>(static_cast<U>(u) - static_cast<U>(v)));
      });
    case IntegerOp::Mul:
      return map_commutative(a, a_step, b, b_step, y, n, [](T u, T v) {
        return static_cast<T>(static_cast<U>(static_cast<Product>(u) * static_cast<Product>(v)));
      });
    case IntegerOp::Maximum:
      return map_commutative(a, a_step, b, b_step, y, n, [](T u, T v) { return u > v ? u : v; });
    case IntegerOp::Minimum:
      return map_commutative(a, a_step, b, b_step, y, n, [](T u, T v) { return u < v ? u : v; });
  }
}

static void integer_binary(IntegerType type, IntegerOp op, const void* a, int64_t a_step, const void* b, int64_t b_step,
                           void* y, int64_t n) {
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    binary_of(op, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step, static_cast<T*>(y), n);
  });
}

static void integer_clamp(IntegerType type, const void* x, void* y, int64_t n, int64_t least, int64_t most) {
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    const T low = static_cast<T>(least), high = static_cast<T>(most);
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      const T v = from[i] > low ? from[i] : low;
      to[i] = v < high ? v : high;
    }
  });
}

// All comparisons are made of two, so that there are few copies of the loops: a > b is b < a, and the others are the
// opposites of these.
template <typename T>
static void compare_of(CompareOp op, const T* a, int64_t a_step, const T* b, int64_t b_step, uint8_t* y, int64_t n) {
  const bool swaps = op == CompareOp::LessEqual || op == CompareOp::Greater;
  const uint8_t is_opposite =
      op == CompareOp::NotEqual || op == CompareOp::LessEqual || op == CompareOp::GreaterEqual ? 1 : 0;
  if (op == CompareOp::Equal || op == CompareOp::NotEqual) {
    return map_commutative(a, a_step, b, b_step, y, n, [=](T u, T v) -> uint8_t { return (u == v) ^ is_opposite; });
  }
  if (swaps) std::swap(a, b), std::swap(a_step, b_step);
  map_integers(a, a_step, b, b_step, y, n, [=](T u, T v) -> uint8_t { return (u < v) ^ is_opposite; });
}

static void integer_compare(IntegerType type, CompareOp op, const void* a, int64_t a_step, const void* b,
                            int64_t b_step, uint8_t* y, int64_t n) {
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    compare_of(op, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step, y, n);
  });
}

// Adds blocks of numbers in a narrow type. The blocks are so short that their sums do not overflow.
template <typename T>
static int64_t sum_of(const T* x, int64_t n) {
  using Part = std::conditional_t<(sizeof(T) < 4), int32_t, uint64_t>;
  constexpr int64_t kBlock = sizeof(T) < 4 ? 32 * 1024 : 1 << 30;
  uint64_t total = 0;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t m = n - first < kBlock ? n - first : kBlock;
    Part part = 0;
    for (int64_t i = 0; i < m; ++i) part += static_cast<Part>(x[first + i]);
    total += static_cast<uint64_t>(static_cast<int64_t>(part));
  }
  return static_cast<int64_t>(total);
}

static int64_t integer_sum(IntegerType type, const void* x, int64_t n) {
  int64_t sum = 0;
  for_type(type, [&](auto tag) { sum = sum_of(static_cast<const decltype(tag)*>(x), n); });
  return sum;
}

// y[j] = f(y[j], x[i * stride + j]), four rows at a time.
template <typename T, typename R, typename Function>
RL_INLINE void reduce_rows_with(const T* x, int64_t stride, int64_t rows, R* y, int64_t n, const Function& f) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *a = x + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
    RL_INDEPENDENT for (int64_t j = 0; j < n; ++j) {
      y[j] = f(f(f(f(y[j], static_cast<R>(a[j])), static_cast<R>(b[j])), static_cast<R>(c[j])), static_cast<R>(d[j]));
    }
  }
  for (; r < rows; ++r) {
    const T* const a = x + r * stride;
    RL_INDEPENDENT for (int64_t j = 0; j < n; ++j) y[j] = f(y[j], static_cast<R>(a[j]));
  }
}

template <typename T>
static void add_rows_of(const T* x, int64_t stride, int64_t rows, int64_t* sums, int64_t n) {
  using Part = std::conditional_t<sizeof(T) == 1, int16_t, int32_t>;
  if constexpr (sizeof(T) < 4) {
    // The sum of this many rows does not overflow.
    constexpr int64_t kRows = sizeof(T) == 1 ? 128 : 32 * 1024, kColumns = 512;
    Part parts[kColumns];
    for (int64_t column = 0; column < n; column += kColumns) {
      const int64_t m = n - column < kColumns ? n - column : kColumns;
      for (int64_t r = 0; r < rows; r += kRows) {
        for (int64_t j = 0; j < m; ++j) parts[j] = 0;
        reduce_rows_with(x + r * stride + column, stride, rows - r < kRows ? rows - r : kRows, parts, m,
                         [](Part u, Part v) { return static_cast<Part>(u + v); });
        RL_INDEPENDENT for (int64_t j = 0; j < m; ++j) {
          sums[column + j] =
              static_cast<int64_t>(static_cast<uint64_t>(sums[column + j]) + static_cast<uint64_t>(int64_t{parts[j]}));
        }
      }
    }
  } else {
    reduce_rows_with(x, stride, rows, sums, n, [](int64_t u, int64_t v) {
      return static_cast<int64_t>(static_cast<uint64_t>(u) + static_cast<uint64_t>(v));
    });
  }
}

static void integer_add_rows(IntegerType type, const void* x, int64_t stride, int64_t rows, int64_t* sums, int64_t n) {
  for_type(type, [&](auto tag) { add_rows_of(static_cast<const decltype(tag)*>(x), stride, rows, sums, n); });
}

static void integer_reduce_rows(IntegerType type, IntegerOp op, const void* x, int64_t stride, int64_t rows, void* y,
                                int64_t n) {
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    if (op == IntegerOp::Maximum) {
      return reduce_rows_with(from, stride, rows, to, n, [](T u, T v) { return u > v ? u : v; });
    }
    reduce_rows_with(from, stride, rows, to, n, [](T u, T v) { return u < v ? u : v; });
  });
}

static int64_t integer_extreme(IntegerType type, bool largest, const void* x, int64_t n) {
  int64_t value = 0;
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(x);
    T best = from[0];
    if (largest) {
      for (int64_t i = 0; i < n; ++i) best = from[i] > best ? from[i] : best;
    } else {
      for (int64_t i = 0; i < n; ++i) best = from[i] < best ? from[i] : best;
    }
    value = best;
  });
  return value;
}

static int64_t integer_find(IntegerType type, const void* x, int64_t n, int64_t value) {
  int64_t found = n;
  for_type(type, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(x);
    const T wanted = static_cast<T>(value);
    constexpr int64_t kBlock = 256 / sizeof(T);
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t m = n - first < kBlock ? n - first : kBlock;
      T any = 0;
      for (int64_t i = 0; i < m; ++i) any |= from[first + i] == wanted ? T(1) : T(0);
      if (!any) continue;
      for (found = first; from[found] != wanted;) ++found;
      return;
    }
  });
  return found;
}

template <typename T>
static void select_of(const uint8_t* c, int64_t c_step, const T* a, int64_t a_step, const T* b, int64_t b_step, T* y,
                      int64_t n) {
  if (c_step == 0) {
    const T* const chosen = *c ? a : b;
    const int64_t step = *c ? a_step : b_step;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) y[i] = chosen[i * step];
  } else if (a_step && b_step) {
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      const T yes = a[i], no = b[i];
      y[i] = c[i] ? yes : no;
    }
  } else if (a_step) {
    const T no = *b;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      const T yes = a[i];
      y[i] = c[i] ? yes : no;
    }
  } else {
    const T yes = *a;
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      const T no = b[b_step * i];
      y[i] = c[i] ? yes : no;
    }
  }
}

static void integer_select(int64_t size, const uint8_t* c, int64_t c_step, const void* a, int64_t a_step, const void* b,
                           int64_t b_step, void* y, int64_t n) {
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    select_of(c, c_step, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step, static_cast<T*>(y), n);
  };
  if (size == 1) return run(uint8_t());
  if (size == 2) return run(uint16_t());
  if (size == 4) return run(uint32_t());
  run(uint64_t());
}

#if defined(__AVX512F__)
static constexpr int kVectorBytes = 64, kProductRows = 4;
#elif defined(__AVX2__)
static constexpr int kVectorBytes = 32, kProductRows = 2;
#else
static constexpr int kVectorBytes = 16, kProductRows = 2;
#endif

// Keeps the sums of kProductRows rows and four vectors of columns in registers.
template <typename T>
static void add_products_of(const T* a, int64_t a_row, const T* b, T* sums, int64_t rows, int64_t depth) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
  constexpr int kVectors = 4, kLanes = kVectorBytes / 8;
  for (int64_t r = 0; r < rows; r += kProductRows, sums += kProductRows * kProductColumns) {
    const T* from[kProductRows];  // rows after the last one repeat it
    for (int i = 0; i < kProductRows; ++i) from[i] = a + (r + i < rows ? r + i : rows - 1) * a_row;
    for (int64_t c = 0; c < kProductColumns; c += kVectors * kLanes) {
      Unaligned* const to = reinterpret_cast<Unaligned*>(sums + c);
      constexpr int64_t kStep = kProductColumns / kLanes;  // vectors of a row
      Vector part[kProductRows][kVectors];
      RL_UNROLL for (int i = 0; i < kProductRows; ++i) {
        RL_UNROLL for (int j = 0; j < kVectors; ++j) part[i][j] = to[i * kStep + j];
      }
      const Unaligned* row = reinterpret_cast<const Unaligned*>(b + c);
      for (int64_t k = 0; k < depth; ++k, row += kStep) {
        const Vector columns[kVectors] = {row[0], row[1], row[2], row[3]};
        RL_UNROLL for (int i = 0; i < kProductRows; ++i) {
          const Vector factor = from[i][k] - Vector{};
          RL_UNROLL for (int j = 0; j < kVectors; ++j) part[i][j] += factor * columns[j];
        }
      }
      RL_UNROLL for (int i = 0; i < kProductRows; ++i) {
        RL_UNROLL for (int j = 0; j < kVectors; ++j) to[i * kStep + j] = part[i][j];
      }
    }
  }
}

static void integer_add_products(bool is_float, const void* a, int64_t a_row, const void* b, void* sums, int64_t rows,
                                 int64_t depth) {
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    add_products_of(static_cast<const T*>(a), a_row, static_cast<const T*>(b), static_cast<T*>(sums), rows, depth);
  };
  is_float ? run(double()) : run(uint64_t());
}

static constexpr IntegerMicrokernels make_integer_table(const char* name) {
  IntegerMicrokernels t{};
  t.name = name;
  RL_SET(binary, integer_binary);
  RL_SET(clamp, integer_clamp);
  RL_SET(compare, integer_compare);
  RL_SET(sum, integer_sum);
  RL_SET(add_rows, integer_add_rows);
  RL_SET(reduce_rows, integer_reduce_rows);
  RL_SET(extreme, integer_extreme);
  RL_SET(find, integer_find);
  RL_SET(select, integer_select);
  RL_SET(add_products, integer_add_products);
  return t;
}

}  // namespace rushlight::microkernels::RL_ISA
