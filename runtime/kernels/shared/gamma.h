#pragma once

#include <cmath>
#include <limits>

namespace rushlight {

// Computes the sum of (q + k)^-s over k >= 0 for s > 1: the first terms directly, the rest by the Euler-Maclaurin
// formula (Abramowitz and Stegun 23.2.5; Johansson, Rigorous high-precision computation of the Hurwitz zeta function,
// 2015). As in eager PyTorch, the result is infinite at the poles, and NaN for a negative q whose powers are not real.
inline double zeta(double s, double q) {
  if (s != s || q != q) return std::nan("");
  if (s == 1) return std::numeric_limits<double>::infinity();
  if (s < 1) return std::nan("");
  if (q <= 0) {
    if (q == std::floor(q)) return std::numeric_limits<double>::infinity();
    if (s != std::floor(s)) return std::nan("");
    // The sum of the terms with q + k < 0 is a difference of two zeta values, so the time does not depend on q.
    if (q < -64) {
      const double below = std::ceil(-q), sign = std::fmod(s, 2) == 1 ? -1 : 1;
      return sign * (zeta(s, -q - below + 1) - zeta(s, 1 - q)) + zeta(s, q + below);
    }
  }
  double sum = 0;
  for (const double series_begin = std::fmax(12, s + 8); q < series_begin; q += 1) {
    const double term = std::pow(q, -s);
    if (q > 0 && sum + term == sum) return sum;
    sum += term;
  }
  const double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  // B_2k / (2k)!
  constexpr double kFactors[] = {1.0 / 12,          -1.0 / 720,
                                 1.0 / 30240,       -1.0 / 1209600,
                                 1.0 / 47900160,    -691.0 / 1307674368000,
                                 1.0 / 74724249600, -3617.0 / 10670622842880000};
  double rising = s * power / q;
  int k = 0;
  for (const double factor : kFactors) {
    const double term = factor * rising;
    sum += term;
    if (std::abs(term) < 1e-17 * std::abs(sum)) break;
    rising *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    ++k;
  }
  return sum;
}

// Computes log(1 + x) - x without cancellation for x near 0.
inline double log1p_minus_x(double x) {
  if (std::abs(x) > 0.3) return std::log1p(x) - x;
  double power = x, sum = 0;
  for (int k = 2; k < 60; ++k) {
    power *= -x;
    const double next = sum + power / k;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

// Computes x^a e^-x / gamma(a + 1). For large a it uses Stirling's series of the gamma function (Abramowitz and Stegun
// 6.1.37).
inline double gamma_density(double a, double x) {
  constexpr double kTwoPi = 6.283185307179586;
  if (a < 12) return std::exp(a * std::log(x) - x - std::lgamma(a + 1));
  const double inverse = 1 / a, square = inverse * inverse;
  const double rest =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  return std::exp(a * log1p_minus_x((x - a) / a) - rest) / std::sqrt(kTwoPi * a);
}

// Computes the lower or upper regularized incomplete gamma function: by the power series up to a + 1, else by the
// continued fraction with Lentz's method (Abramowitz and Stegun 6.5.29 and 6.5.31; Gil, Segura and Temme 2012 on their
// ranges). The special cases are as in eager PyTorch.
inline double incomplete_gamma(bool upper, double a, double x) {
  if (!(a >= 0 && x >= 0)) return std::nan("");
  const double lower_end = upper ? 1 : 0;  // the result where the lower function is 0
  if (a == 0) return x > 0 ? 1 - lower_end : std::nan("");
  if (x == 0) return lower_end;
  if (std::isinf(a)) return std::isinf(x) ? std::nan("") : lower_end;
  if (std::isinf(x)) return 1 - lower_end;
  const double density = gamma_density(a, x);
  const int max_terms = 500 + static_cast<int>(std::fmin(20 * std::sqrt(a), 1e6));
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (int k = 1; k < max_terms && term > 1e-17 * sum; ++k) sum += term *= x / (a + k);
    return upper ? 1 - sum * density : sum * density;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, fraction = d;
  for (int k = 1; k < max_terms; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + numerator / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double change = c * d;
    fraction *= change;
    if (std::abs(change - 1) < 1e-16) break;
  }
  const double value = density * a * fraction;
  return upper ? value : 1 - value;
}

// Computes the n-th derivative of digamma (Abramowitz and Stegun 6.4.10) for n > 0.
inline double polygamma(int64_t n, double x) {
  constexpr double kPi = 3.141592653589793;
  if (n == 1 && x < 0.5) {
    const double sine = std::sin(kPi * (x - std::trunc(x)));
    return x == std::floor(x) ? std::numeric_limits<double>::infinity() : kPi * kPi / (sine * sine) - zeta(2, 1 - x);
  }
  const double order = static_cast<double>(n);
  const double value = std::exp(std::lgamma(order + 1)) * zeta(order + 1, x);
  return n % 2 ? value : -value;
}

}  // namespace rushlight
