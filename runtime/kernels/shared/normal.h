#pragma once

#include <cmath>
#include <limits>

namespace rushlight {

// Computes e^(x^2) erfc(x): directly up to x = 2, then by Laplace's continued fraction (DLMF 7.9.1). Below 0 it is 2
// e^(x^2) - erfcx(-x).
inline double erfcx(double x) {
  if (x != x) return x;
  if (x < 0) {
    if (x < -27) return std::numeric_limits<double>::infinity();
    // `rest` is the rounding error of the square; it matters where the exponential is large.
    const double square = x * x, rest = std::fma(x, x, -square);
    return 2 * std::exp(square) * (1 + rest) - erfcx(-x);
  }
  if (x <= 2) return std::exp(x * x) * std::erfc(x);
  constexpr double kInverseRootPi = 0.5641895835477563;
  double fraction = x;
  for (int k = x < 5 ? 120 : 24; k > 0; --k) fraction = x + 0.5 * k / fraction;
  return kInverseRootPi / fraction;
}

// Computes the inverse of the normal distribution function by Newton's method with Halley's correction, applied to
// erfc. The initial value is the first term of the asymptotic inverse (DLMF 7.17.3 and 7.17.6).
inline double ndtri(double p) {
  if (!(p > 0 && p < 1)) {
    if (p == 0 || p == 1) return (p == 0 ? -1 : 1) * std::numeric_limits<double>::infinity();
    return std::nan("");
  }
  constexpr double kRootTwo = 1.4142135623730951, kRootPi = 1.772453850905516;
  const bool low = p < 0.5;
  // Solves erfc(x) = area for x >= 0. Near the middle, erf is more precise than erfc.
  const double area = 2 * (low ? p : 1 - p), middle = 2 * std::abs(p - 0.5);
  double x = middle < 0.5 ? middle * kRootPi / 2 : 0;
  if (x == 0 && middle >= 0.5) {
    const double log = -std::log(area * kRootPi);
    x = std::sqrt(std::fmax(0.2, log - 0.5 * std::log(std::fmax(log, 0.5))));
  }
  for (int i = 0; i < 8; ++i) {
    // The error divided by the derivative; both are multiplied by e^(x^2).
    const double error =
        middle < 0.5 ? (std::erf(x) - middle) * std::exp(x * x) : (1 - area / std::erfc(x)) * -erfcx(x);
    const double step = error * kRootPi / 2;
    const double change = step / (1 + x * step);
    x -= change;
    if (std::abs(change) <= 1e-16 * x) break;
  }
  return (low ? -kRootTwo : kRootTwo) * x;
}

}  // namespace rushlight
