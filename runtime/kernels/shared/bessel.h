#pragma once

#include <cmath>
#include <limits>

namespace rushlight {

// Computes e^-|x| I_n(x) for n = 0 and 1. Up to |x| = 30, it uses the power series, whose terms all have the same sign;
// above, Hankel's asymptotic series (Abramowitz and Stegun 9.6.10 and 9.7.1).
inline double scaled_bessel_i(int n, double x) {
  if (x != x) return x;
  const double size = std::abs(x), sign = n == 1 && x < 0 ? -1 : 1;
  if (size <= 30) {
    const double square = size * size / 4;
    double term = n == 0 ? 1 : size / 2, sum = 0;
    for (int k = 1; sum + term != sum; ++k) {
      sum += term;
      term *= square / (static_cast<double>(k) * (k + n));
    }
    return sign * sum * std::exp(-size);
  }
  constexpr double kTwoPi = 6.283185307179586;
  if (std::isinf(size)) return 0;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2 * k - 1;
    term *= -(4.0 * n * n - odd * odd) / (8 * k * size);
    if (sum + term == sum) break;
    sum += term;
  }
  return sign * sum / std::sqrt(kTwoPi * size);
}

inline double bessel_i(int n, double x) {
  const double size = std::abs(x), scaled = scaled_bessel_i(n, x);
  // The product is computed in two steps, because e^|x| alone may be out of range. The scaled function of an infinity
  // is 0.
  if (std::isinf(size)) return n == 1 ? x : size;
  const double half = std::exp(size / 2);
  return scaled * half * half;
}

// Computes e^x K_n(x) for n = 0 and 1: the integral of e^(-x (cosh t - 1)) cosh(n t) over t > 0 (DLMF 10.32.9) by the
// trapezoidal rule, which converges exponentially (Trefethen and Weideman, The exponentially convergent trapezoidal
// rule, 2014).
inline double scaled_bessel_k(int n, double x) {
  if (x != x || x < 0) return std::nan("");
  if (x == 0) return std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return 0;
  const double step = 0.125 / std::sqrt(1 + x / 8);
  double sum = 0.5;
  for (int i = 1;; ++i) {
    const double t = i * step, half = std::sinh(t / 2);
    const double term = std::exp(-2 * x * half * half) * (n == 1 ? std::cosh(t) : 1.0);
    sum += term;
    if (term < 1e-18 * sum && x * half > 1) break;
    if (!(t < 740)) break;
  }
  return sum * step;
}

inline double bessel_k(int n, double x) { return std::isinf(x) && x > 0 ? 0 : scaled_bessel_k(n, x) * std::exp(-x); }

// Computes sin x / x. Near 0 it uses the power series.
inline double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  const double square = x * x;
  if (square > 1e-4) return std::sin(x) / x;
  return 1 - square / 6 * (1 - square / 20);
}

}  // namespace rushlight
