#pragma once

#include <cmath>
#include <limits>

namespace rushlight {

// Computes the logarithmic derivative of the gamma function: by the recurrence up to 10, then by the asymptotic series
// (Abramowitz and Stegun 6.3.5, 6.3.7 and 6.3.18).
inline double digamma(double x) {
  constexpr double kPi = 3.141592653589793;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::nan("");
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::trunc(x)));
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  if (std::isinf(x)) return x;
  const double square = 1 / (x * x);
  const double series =
      square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square * (1.0 / 132)))));
  return sum + std::log(x) - 0.5 / x - series;
}

// Computes the inverse of erf by Winitzki's approximation (A handy approximation for the error function and its
// inverse, 2008), refined by Newton's method with Halley's correction.
inline double erfinv(double y) {
  if (!(y > -1 && y < 1)) {
    if (y == 1 || y == -1) return std::copysign(std::numeric_limits<double>::infinity(), y);
    return std::nan("");
  }
  if (y == 0) return y;
  constexpr double kA = 0.147, kPi = 3.141592653589793;
  const double size = std::abs(y);
  const double log = std::log1p(-size * size);
  const double half = 2 / (kPi * kA) + log / 2;
  double x = std::sqrt(std::sqrt(half * half - log / kA) - half);
  for (int i = 0; i < 2; ++i) {  // the relative error is 2e-3, then 2e-7, then that of float64
    // Where erf is close to 1, it is imprecise, but erfc is precise.
    const double error = size < 0.5 ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const double step = error / (2 / std::sqrt(kPi) * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

}  // namespace rushlight
