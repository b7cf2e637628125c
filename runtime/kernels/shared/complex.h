#pragma once

#include <complex>

#include "rushlight/core/scalar_type.h"

namespace rushlight {

using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;

// A complex number of two float16 parts. It converts to ComplexFloat for arithmetic.
struct ComplexHalf {
  Half re, im;
  ComplexHalf() = default;
  ComplexHalf(ComplexFloat value) : re(value.real()), im(value.imag()) {}  // NOLINT
  operator ComplexFloat() const { return {re, im}; }                       // NOLINT
};

template <>
struct ScalarTypeOf<ComplexHalf> {
  static constexpr ScalarType value = ScalarType::ComplexHalf;
};
template <>
struct ScalarTypeOf<ComplexFloat> {
  static constexpr ScalarType value = ScalarType::ComplexFloat;
};
template <>
struct ScalarTypeOf<ComplexDouble> {
  static constexpr ScalarType value = ScalarType::ComplexDouble;
};

template <typename T>
inline constexpr bool is_complex_type = false;
template <typename T>
inline constexpr bool is_complex_type<std::complex<T>> = true;
template <>
inline constexpr bool is_complex_type<ComplexHalf> = true;

}  // namespace rushlight
