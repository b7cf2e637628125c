#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/shared/integer.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight {

// Remembers that an integer was divided by zero, because an elementwise loop cannot stop. report() then fails the
// kernel.
class ZeroDivision {
 public:
  void record() { seen_.store(true, std::memory_order_relaxed); }
  void report(KernelRuntimeContext& context) const {
    if (seen_.load(std::memory_order_relaxed)) context.fail(Error::InvalidArgument, "an integer is divided by zero");
  }

 private:
  std::atomic<bool> seen_{false};
};

// Returns the same number as std::fmod. If x / y has few digits before the point, exact products of double replace the
// loop of std::fmod, which is many times slower.
inline float remainder_of(float x, float y) {
  const float quotient = std::abs(x / y);
  if (!(quotient < 4194304.0f && std::abs(y) <= std::numeric_limits<float>::max())) return std::fmod(x, y);
  const double divisor = std::abs(static_cast<double>(y));
  double rest = std::abs(static_cast<double>(x)) - static_cast<int32_t>(quotient) * divisor;
  rest += rest < 0 ? divisor : 0.0;  // the division may have rounded up to the next integer
  return std::copysign(static_cast<float>(rest), x);
}
inline double remainder_of(double x, double y) { return std::fmod(x, y); }

// Returns y if `mod` and y have different signs, else -0. Written without branches, because signs may be random.
template <typename C>
C step_to_sign(C mod, C y) {
  const C steps[] = {C(-0.0), y};
  const int is_below = static_cast<int>(mod < 0) & static_cast<int>(y > 0);
  return steps[is_below | (static_cast<int>(mod > 0) & static_cast<int>(y < 0))];
}

// Returns the quotient rounded towards negative infinity, as Python's floor division of floats: the remainder is
// subtracted before the division, so that rounding of the division does not change the result.
template <typename C>
C floor_quotient(C x, C y) {
  if (y == 0) return x / y;
  const C mod = remainder_of(x, y);
  C quotient = (x - mod) / y;
  quotient -= step_to_sign(mod, y) != 0 ? C(1) : C(0);
  const C rounded = std::floor(quotient), up = rounded + 1;
  const C nearest = quotient - rounded > C(0.5) ? up : rounded;
  return quotient == 0 ? std::copysign(C(0), x / y) : nearest;
}

// Floor division of floats with a short quotient needs one division of doubles: no quotient of floats below 2^21 is so
// close to an integer that it would be rounded to this integer.
inline float floor_quotient(float x, float y) {
  const double quotient = static_cast<double>(x) / static_cast<double>(y);
  if (!(std::abs(quotient) < 2097152.0 && std::abs(y) <= std::numeric_limits<float>::max())) {
    return floor_quotient<float>(x, y);
  }
  int32_t floor = static_cast<int32_t>(quotient);
  floor -= static_cast<int32_t>(floor > quotient);
  return std::copysign(static_cast<float>(floor), static_cast<float>(quotient));
}

// Returns the remainder of the floor division. It has the sign of y.
template <typename C>
C floor_remainder(C x, C y) {
  const C mod = remainder_of(x, y);
  return mod + step_to_sign(mod, y);
}

// Wraps an integer operation of integer.h. A division by zero is recorded and gives 0.
template <int64_t (*function)(int64_t, int64_t)>
struct Checked {
  ZeroDivision* zero;
  int64_t operator()(int64_t x, int64_t y) const {
    if (y == 0) {
      zero->record();
      return 0;
    }
    return function(x, y);
  }
};

}  // namespace rushlight
