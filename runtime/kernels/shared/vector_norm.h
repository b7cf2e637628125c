#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/shared/accumulate.h"

namespace rushlight {

// Computes (sum of |x|^p)^(1/p). For p = 0, the norm is the number of nonzero elements; for infinite p, it is the
// largest or smallest |x|. It is NaN if an element is NaN.
class PowerSum {
 public:
  explicit PowerSum(double p) : p_(p) {}

  // Returns the initial state.
  double start() const { return std::isinf(p_) && p_ < 0 ? std::numeric_limits<double>::infinity() : 0.0; }

  // Returns `state` after an update with value(i) for i < n.
  template <typename Value>
  double add(double state, int64_t n, const Value& value) const {
    const auto size = [&](int64_t i) { return static_cast<double>(std::abs(value(i))); };
    if (p_ == 2) return state + sum_of(n, [&](int64_t i) { return size(i) * size(i); });
    if (p_ == 1) return state + sum_of(n, size);
    if (p_ == 0) return state + sum_of(n, [&](int64_t i) { return size(i) != 0 ? 1.0 : 0.0; });
    if (std::isinf(p_)) {
      for (int64_t i = 0; i < n; ++i) {
        const double x = size(i);
        if (x != x || (p_ > 0 ? x > state : x < state)) state = x;
      }
      return state;
    }
    return state + sum_of(n, [&](int64_t i) { return std::pow(size(i), p_); });
  }

  double finish(double state) const {
    if (p_ == 2) return std::sqrt(state);
    return p_ == 0 || p_ == 1 || std::isinf(p_) ? state : std::pow(state, 1 / p_);
  }

 private:
  double p_;
};

}  // namespace rushlight
