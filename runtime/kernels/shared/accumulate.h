#pragma once

#include <cstdint>

#include "kernels/shared/complex.h"

namespace rushlight {

// The type in which sums of numbers of a compute type are accumulated.
template <typename C>
struct WideOf {
  using type = C;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<ComplexFloat> {
  using type = ComplexDouble;
};
template <typename C>
using Wide = typename WideOf<C>::type;

// Returns the sum of value(i) for i < n. It uses four independent sums, which the processor computes at the same time.
template <typename Value>
auto sum_of(int64_t n, const Value& value) {
  using W = decltype(value(int64_t{0}));
  W sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t lane = 0; lane < 4; ++lane) sums[lane] += value(i + lane);
  }
  for (; i < n; ++i) sums[0] += value(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The mean and the sum of squared deviations of a growing sample (Chan, Golub and LeVeque: Updating formulae and a
// pairwise algorithm for computing sample variances, 1979).
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;

  template <typename C>
  void add(const C* x, int64_t n) {
    if (n == 0) return;
    const double part_mean = sum_of(n, [x](int64_t i) { return static_cast<double>(x[i]); }) / static_cast<double>(n);
    const double part_squares = sum_of(n, [x, part_mean](int64_t i) {
      const double deviation = static_cast<double>(x[i]) - part_mean;
      return deviation * deviation;
    });
    const double total = static_cast<double>(count + n);
    const double shift = part_mean - mean;
    squares += part_squares + shift * shift * (static_cast<double>(count) * static_cast<double>(n) / total);
    mean += shift * (static_cast<double>(n) / total);
    count += n;
  }

  // Returns the sum of squared deviations divided by count - correction (at least 0).
  double variance(double correction) const {
    const double divisor = static_cast<double>(count) - correction;
    return squares / (divisor > 0 ? divisor : 0.0);
  }
};

}  // namespace rushlight
