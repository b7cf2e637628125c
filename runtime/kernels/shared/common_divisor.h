#pragma once

#include "kernels/shared/integer.h"

namespace rushlight {

// Returns the greatest common divisor, which is not negative; 2^63 wraps around to -2^63.
inline int64_t greatest_common_divisor(int64_t a, int64_t b) {
  a = a < 0 ? wrap_neg(a) : a;
  b = b < 0 ? wrap_neg(b) : b;
  while (b != 0) {
    const int64_t rest = trunc_mod(a, b);
    a = b;
    b = rest < 0 ? wrap_neg(rest) : rest;
  }
  return a;
}

}  // namespace rushlight
