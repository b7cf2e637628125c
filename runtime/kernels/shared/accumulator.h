#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/shared/complex.h"
#include "rushlight/core/half.h"

namespace rushlight {

namespace detail {
template <typename T>
struct Accumulator {
  // Sums of integers wrap around, which C++ defines for unsigned arithmetic only.
  using type = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
};
template <>
struct Accumulator<Half> {
  using type = float;
};
template <>
struct Accumulator<BFloat16> {
  using type = float;
};
template <>
struct Accumulator<ComplexHalf> {
  using type = ComplexFloat;
};
template <typename T>
struct Number {
  using type = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
};
template <typename T>
struct Number<std::complex<T>> {
  using type = T;
};
}  // namespace detail

// The type of sums of products of T: float for 16-bit floats, 64-bit integers that wrap around for integers.
template <typename T>
using AccumulatorOf = typename detail::Accumulator<T>::type;

// Compute a + b and a * b as elements of T: rounded to T for floats, wrapping for integers, logical for bool.
template <typename T>
T add_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else {
    return static_cast<T>(static_cast<AccumulatorOf<T>>(a) + static_cast<AccumulatorOf<T>>(b));
  }
}
template <typename T>
T multiply_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else {
    return static_cast<T>(static_cast<AccumulatorOf<T>>(a) * static_cast<AccumulatorOf<T>>(b));
  }
}

// The type of a real number before its conversion to an accumulator.
template <typename Accumulator>
using NumberOf = typename detail::Number<Accumulator>::type;

}  // namespace rushlight
