#pragma once

#include <atomic>
#include <cmath>
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

// Returns the quotient rounded towards negative infinity, as Python's floor division of floats: the remainder is
// subtracted before the division, so that rounding of the division does not change the result.
template <typename C>
C floor_quotient(C x, C y) {
  if (y == 0) return x / y;
  C mod = std::fmod(x, y);
  C quotient = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(C(0), x / y);
  const C rounded = std::floor(quotient);
  return quotient - rounded > C(0.5) ? rounded + 1 : rounded;
}

// Returns the remainder of the floor division. It has the sign of y.
template <typename C>
C floor_remainder(C x, C y) {
  const C mod = std::fmod(x, y);
  return mod != 0 && (y < 0) != (mod < 0) ? mod + y : mod;
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
